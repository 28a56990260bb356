"""The passes over a kernel's IR, in order: the compiler's table of contents before code is written.

A pass rewrites the IR or notes a decision as an attribute, which the code generation behind it only
reads. `compile --print-after PASS` shows the IR after any of them. The rules by which code is
written then are in `lowering/llvm/rules.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from triton_rvv.frontend.ttir import Operation
from triton_rvv.lowering.ttir.accumulators import narrow_accumulators
from triton_rvv.lowering.ttir.bounded_powers import mark_bounded_powers
from triton_rvv.lowering.ttir.carried_offsets import mark_carried_offsets
from triton_rvv.lowering.ttir.chosen_numbers import choose_results
from triton_rvv.lowering.ttir.chosen_rows import find_chosen_rows
from triton_rvv.lowering.ttir.column_limits import mark_column_limits
from triton_rvv.lowering.ttir.commutative import mark_commutative
from triton_rvv.lowering.ttir.epilogues import mark_epilogues
from triton_rvv.lowering.ttir.every_other import find_every_other
from triton_rvv.lowering.ttir.hoisted_masks import hoist_masks
from triton_rvv.lowering.ttir.infer_access import infer_access, show_accesses
from triton_rvv.lowering.ttir.interleaved_stores import group_stores
from triton_rvv.lowering.ttir.joint_reductions import join_reductions
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.late_sums import add_late
from triton_rvv.lowering.ttir.located_extremes import locate_extremes
from triton_rvv.lowering.ttir.multiplied_shifts import multiply_shifts
from triton_rvv.lowering.ttir.narrow_comparisons import narrow_comparisons
from triton_rvv.lowering.ttir.narrow_integers import narrow_integers
from triton_rvv.lowering.ttir.narrow_products import narrow_products
from triton_rvv.lowering.ttir.row_ends import mark_row_ends
from triton_rvv.lowering.ttir.schedule import choose_schedule
from triton_rvv.lowering.ttir.shaped_blocks import mark_shaped_blocks
from triton_rvv.lowering.ttir.shared_rows import share_rows
from triton_rvv.lowering.ttir.split_blocks import split_blocks
from triton_rvv.lowering.ttir.store_sinking import mark_sinkable_stores
from triton_rvv.lowering.ttir.turned_products import turn_products
from triton_rvv.lowering.ttir.turned_rows import turn_short_rows
from triton_rvv.lowering.ttir.unfilled import mark_unfilled
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
        name: what people call it by.
        run: changes the kernel; how many places it changed.
        says: what it does, in one sentence.
    """

    name: str
    run: Callable[[Kernel], int]
    says: str


@dataclass(frozen=True)
class Fired:
    """How many places of a kernel a pass changed, or how many operations a rule held for."""

    name: str
    count: int


# Is told of a pass that has run, and shown the module.
Watch = Callable[[Fired, Operation], None]


PASSES: Sequence[Pass] = (
    Pass(
        "multiply-shifts",
        multiply_shifts,
        "Multiplies by powers of two in place of shifts, as passes and code follow products.",
    ),
    Pass(
        "choose-results",
        choose_results,
        "Computes once what a block's elements can be that a condition chooses from two numbers.",
    ),
    Pass(
        "choose-schedule",
        choose_schedule,
        "Leaves the order of instructions to LLVM's scheduler where nothing is multiplied.",
    ),
    Pass(
        "mark-bounded-powers",
        mark_bounded_powers,
        "Finds exponentials that cannot overflow, which take fewer instructions.",
    ),
    Pass(
        "turn-short-rows",
        turn_short_rows,
        "Turns blocks around whose short rows are reduced, so that their rows are lanes.",
    ),
    Pass(
        "turn-products",
        turn_products,
        "Turns products around whose right operand is transposed in each turn of a loop.",
    ),
    Pass(
        "unroll-loops",
        unroll_loops,
        "Writes out short loops that only compute the blocks which they carry.",
    ),
    Pass(
        "split-blocks",
        split_blocks,
        "Computes blocks that a loop carries in parts that registers hold, one after another.",
    ),
    Pass(
        "add-late",
        add_late,
        "Adds up blocks in a loop, and their elements only behind it.",
    ),
    Pass(
        "narrow-accumulators",
        narrow_accumulators,
        "Makes blocks smaller that a loop adds to and that are reduced behind it, or numbers.",
    ),
    Pass(
        "unroll-passed-on",
        unroll_passed_on,
        "Makes as many turns of a loop one as it passes blocks on, so that none is copied.",
    ),
    Pass(
        "narrow-comparisons",
        narrow_comparisons,
        "Compares columns with a wider number in the columns' own type.",
    ),
    Pass(
        "narrow-integers",
        narrow_integers,
        "Computes blocks of integers in as few bits as their elements, or their readers, need.",
    ),
    Pass(
        "narrow-products",
        narrow_products,
        "Adds up products of bytes in 16 bits where these hold the sums.",
    ),
    Pass(
        "locate-extremes",
        locate_extremes,
        "Finds the least or greatest element of a row first, and then where it is.",
    ),
    Pass(
        "join-reductions",
        join_reductions,
        "Makes one reduction of two that read the same elements.",
    ),
    Pass(
        "find-chosen-rows",
        find_chosen_rows,
        "Loads ahead which row a later turn of a loop reads, so that its lines can be asked for.",
    ),
    Pass(
        "hoist-masks",
        hoist_masks,
        "Computes the masks of stores before the products of which they let a part through.",
    ),
    Pass(
        "mark-commutative",
        mark_commutative,
        "Finds reductions that may combine elements in any order.",
    ),
    Pass(
        "mark-row-ends",
        mark_row_ends,
        "Finds reductions that need not look behind the end of a row's mask.",
    ),
    Pass(
        "group-stores",
        group_stores,
        "Groups stores that may be written in one walk.",
    ),
    Pass(
        "sink-stores",
        mark_sinkable_stores,
        "Finds stores that may wait until the blocks that their loop carries change.",
    ),
    Pass(
        "mark-reshaped",
        mark_shaped_blocks,
        "Finds quotients and remainders that become part of a larger block.",
    ),
    Pass(
        "mark-column-limits",
        mark_column_limits,
        "Finds limits of columns, such as those at the edge of an image, in addresses.",
    ),
    Pass(
        "carry-bases",
        mark_carried_offsets,
        "Finds blocks of which a loop changes only the base, so that it carries one number.",
    ),
    Pass(
        "start-in-product",
        mark_unfilled,
        "Has a loop's first product fill the accumulator in place of a loop before it.",
    ),
    Pass(
        "store-in-last-turn",
        mark_epilogues,
        "Finds stores of a loop's product that its last turn may do.",
    ),
    Pass(
        "infer-access",
        infer_access,
        "Finds where the elements of loads and stores lie, and how far the next ones are.",
    ),
    Pass(
        "find-every-other",
        find_every_other,
        "Finds loads of halves under masks that let through those of even numbers alone.",
    ),
    Pass(
        "share-rows",
        share_rows,
        "Finds loads of which a row is also a row of another one, as those of a stencil.",
    ),
)


def run_passes(
    kernel: Kernel, watch: Watch | None = None, skipped: Collection[str] = ()
) -> list[Fired]:
    """Run the passes. Code is right without any of them, if slower.

    Args:
        kernel: what they change.
        watch: told of PARSED, and then of each pass that runs.
        skipped: the names of passes that do not run.
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
