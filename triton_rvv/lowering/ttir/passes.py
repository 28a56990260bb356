"""The passes over a kernel's IR, in order: the compiler's table of contents before code is written.

A pass rewrites the IR or notes a decision as an attribute, which the code generation behind it only
reads. `compile --print-after PASS` shows the IR after any of them. The rules by which code is
written then are in `lowering/llvm/rules.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from triton_rvv.frontend.ttir import Operation
from triton_rvv.lowering.ttir.accumulators import add_late, narrow_accumulators
from triton_rvv.lowering.ttir.bits_as_sums import add_bits
from triton_rvv.lowering.ttir.bounded_powers import mark_bounded_powers
from triton_rvv.lowering.ttir.carried_offsets import carry_bases
from triton_rvv.lowering.ttir.chosen_numbers import choose_results
from triton_rvv.lowering.ttir.chosen_rows import find_chosen_rows
from triton_rvv.lowering.ttir.column_limits import mark_column_limits, mark_reshaped
from triton_rvv.lowering.ttir.columns_apart import take_columns_apart
from triton_rvv.lowering.ttir.commutative import mark_commutative
from triton_rvv.lowering.ttir.counted_kinds import count_kinds
from triton_rvv.lowering.ttir.epilogues import start_in_product, store_in_last_turn
from triton_rvv.lowering.ttir.every_other import find_every_other
from triton_rvv.lowering.ttir.fixed_point import mark_clipped, mark_rounded
from triton_rvv.lowering.ttir.grid_order import order_programs
from triton_rvv.lowering.ttir.hoisted_masks import hoist_masks
from triton_rvv.lowering.ttir.infer_access import infer_access, show_accesses
from triton_rvv.lowering.ttir.interleaved_stores import group_stores, sink_stores
from triton_rvv.lowering.ttir.joint_reductions import join_reductions
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.located_extremes import locate_extremes
from triton_rvv.lowering.ttir.narrow_carried import narrow_carried
from triton_rvv.lowering.ttir.narrow_comparisons import narrow_comparisons, narrow_thresholds
from triton_rvv.lowering.ttir.narrow_factors import narrow_factors
from triton_rvv.lowering.ttir.narrow_integers import narrow_integers
from triton_rvv.lowering.ttir.narrow_products import narrow_products
from triton_rvv.lowering.ttir.picked_elements import pick_elements
from triton_rvv.lowering.ttir.row_ends import mark_row_ends
from triton_rvv.lowering.ttir.schedule import choose_schedule
from triton_rvv.lowering.ttir.shared_rows import share_rows
from triton_rvv.lowering.ttir.small_tables import find_small_tables
from triton_rvv.lowering.ttir.split_blocks import split_blocks
from triton_rvv.lowering.ttir.split_rows import split_rows
from triton_rvv.lowering.ttir.turned_products import turn_products, turn_short_rows
from triton_rvv.lowering.ttir.unrolled_loops import unroll_loops, unroll_passed_on

__all__ = ["PARSED", "PASSES", "WRITTEN", "Fired", "Pass", "Watch", "run_passes"]

# Stands for the IR as the front end gives it, before all passes.
PARSED = "parse"
# Stands for the IR once code has been written, with how that was done in `triton_rvv.code`.
WRITTEN = "write-code"


@dataclass(frozen=True)
class Pass:
    """A step over the whole kernel.

    Args:
        run: changes the kernel, and gives the number of places that it changed.
    """

    run: Callable[[Kernel], int]

    @property
    def name(self) -> str:
        """What people call it by."""
        return self.run.__name__.replace("_", "-")

    @property
    def says(self) -> str:
        """What it does, in one sentence."""
        return (self.run.__doc__ or "").splitlines()[0]


@dataclass(frozen=True)
class Fired:
    """How many places of a kernel a pass changed, or how many operations a rule held for."""

    name: str
    count: int


# Is told of a pass that has run, and shown the module.
Watch = Callable[[Fired, Operation], None]


PASSES: Sequence[Pass] = tuple(
    Pass(run)
    for run in (
        take_columns_apart,
        pick_elements,
        count_kinds,
        add_bits,
        choose_results,
        choose_schedule,
        mark_bounded_powers,
        turn_short_rows,
        turn_products,
        unroll_loops,
        split_blocks,
        split_rows,
        add_late,
        narrow_accumulators,
        unroll_passed_on,
        narrow_carried,
        narrow_thresholds,
        narrow_comparisons,
        mark_rounded,
        narrow_integers,
        narrow_factors,
        narrow_products,
        mark_clipped,
        locate_extremes,
        join_reductions,
        find_chosen_rows,
        hoist_masks,
        mark_commutative,
        mark_row_ends,
        group_stores,
        sink_stores,
        mark_reshaped,
        mark_column_limits,
        carry_bases,
        start_in_product,
        store_in_last_turn,
        order_programs,
        infer_access,
        find_every_other,
        find_small_tables,
        share_rows,
    )
)


def run_passes(
    kernel: Kernel, watch: Watch | None = None, skipped: Collection[str] = ()
) -> list[Fired]:
    """Run the passes. Code is right without any of them, if slower.

    Args:
        watch: told of PARSED, and then of each pass that runs.
    """
    fired: list[Fired] = []
    if watch is not None:
        watch(Fired(PARSED, 0), kernel.module)
    for each in PASSES:
        if each.name in skipped:
            continue
        fired.append(Fired(each.name, each.run(kernel)))
        if watch is not None:
            show_accesses(kernel)
            watch(fired[-1], kernel.module)
    return fired
