"""Reductions of rows up to the end of their mask, where what is behind it changes nothing."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from triton_rvv.frontend.types import ScalarType
from triton_rvv.lowering.addresses.clamped import is_limited
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.recipes import guards_of_all
from triton_rvv.lowering.blocks.tensors import Tensor, recipes_under
from triton_rvv.lowering.blocks.vector_index import PLAIN_VERSION, LoopVersion, VectorIndex
from triton_rvv.lowering.elementwise.arith import constant
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.loops import index_loops, loop_versioning
from triton_rvv.lowering.loops.loop_nests import UNROLLED_RUNS
from triton_rvv.lowering.memory.load_recipe import Load
from triton_rvv.lowering.reductions.combine_region import CombineRegion
from triton_rvv.lowering.reductions.partial_reductions import PartialReductions

__all__ = ["EndedRows", "RowsEnd", "end_of_rows"]

# Runs of the rest of a row that are computed side by side, so that one waits less for the other.
_RESTS_TOGETHER = 2

# What changes no other number, but for the sign of 0 and NaN, which are free (`commutative.py`).
_NEUTRAL: Mapping[str, float] = {
    **dict.fromkeys(("arith.addf", "arith.addi", "arith.ori", "arith.xori"), 0),
    **dict.fromkeys(("arith.maxnumf", "arith.maximumf"), -math.inf),
    **dict.fromkeys(("arith.minnumf", "arith.minimumf"), math.inf),
}

# Takes some rows, and the totals of each.
_Write = Callable[[Sequence[tuple[Val, ...]], Sequence[Sequence[Val]]], None]


@dataclass(frozen=True)
class RowsEnd:
    """Where rows end.

    Args:
        column: the first one behind all of them, as i64.
        guards: truth values that, where all of them hold, say that nothing before is left out.
    """

    column: Val
    guards: Sequence[Val]


@rule("end-rows", nothing)
def end_of_rows(
    context: Context, sources: Sequence[Tensor], combination: CombineRegion, width: int
) -> RowsEnd | None:
    """Where all rows of some blocks end, if what is behind it is one number.

    What else is kept of the elements, and arrays in registers, are wanted whole; so is what loads
    without a mask read.
    """
    if not context.builder.abilities.has_vector_lengths or not combination.behind_end:
        return None
    *rows, columns = sources[0].shape
    below, in_registers = recipes_under(sources), UNROLLED_RUNS * width
    if any(_is_for_all(each, columns, in_registers) for each in below):
        return None
    if any(source.element.bits == 1 for source in sources):
        return None
    end = loop_versioning.row_ends(context, sources)
    if end is None or end.constant is not None:
        return None
    guards = guards_of_all(context.builder, sources, [*[None] * len(rows), end])
    return None if guards is None else RowsEnd(end, guards)


def _is_for_all(tensor: Tensor, columns: int, in_registers: int) -> bool:
    """Whether all columns of a block are wanted; one with another number has none of its own.

    Args:
        in_registers: elements of an array that registers hold as long as columns are known numbers.
    """
    is_whole = isinstance(tensor, Load) and tensor.mask is None and not is_limited(tensor.pointers)
    is_held = isinstance(tensor, Buffer) and tensor.type.elements <= in_registers
    return tensor.filling is not None or (tensor.shape[-1] == columns and (is_whole or is_held))


@dataclass(frozen=True)
class EndedRows:
    """A reduction of rows that end at one column: whole runs first, then as many lanes as are left.

    Args:
        sizes: elements of a run, and how many rows and runs of each are combined side by side.
        write_totals: puts the totals of some rows where they belong.
    """

    context: Context
    sources: Sequence[Tensor]
    combination: CombineRegion
    sizes: tuple[int, int, int]
    write_totals: _Write

    def write(self, end: RowsEnd, otherwise: Callable[[LoopVersion], None]) -> None:
        """The reduction of all rows.

        Args:
            otherwise: writes it for rows of a few elements, and where more than the end of rows
                leaves elements out.
        """
        is_long = self.context.builder.compare("sge", end.column, integer(self._step))
        self.context.builder.branches(
            loop_versioning.all_of(self.context, [is_long, *end.guards]),
            lambda: self._all_rows(end.column),
            lambda: loop_versioning.under_masks(self.context, self.sources, otherwise),
            likely=True,
        )

    @property
    def _step(self) -> int:
        width, _, runs = self.sizes
        return runs * width

    def _all_rows(self, end: Val) -> None:
        context, shape, (_, together, _) = self.context, self.sources[0].shape, self.sizes
        for index in index_loops.positions(context, shape[:-1], False, together):
            self._reduce(index_loops.neighbours(context, index, together), end)

    def _reduce(self, rows: Sequence[tuple[Val, ...]], end: Val) -> None:
        """Reduce some rows side by side."""
        context, (width, _, runs) = self.context, self.sizes
        builder, sources, columns = context.builder, self.sources, self.sources[0].shape[-1]
        first = self._points(rows, integer(0), runs)
        totals = PartialReductions(context, self.combination, sources, first, runs)
        whole, _ = builder.split(end, self._step)
        with builder.loop(integer(self._step), whole, integer(self._step)) as start:
            totals.add(self._points(rows, start, runs))
        rests = min(runs, _RESTS_TOGETHER)
        with builder.loop(whole, end, integer(rests * width)) as start:
            points = self._points(rows, start, rests)
            totals.add_rest([self._with_lanes(point, end) for point in points], rests)
        if (numbers := self._numbers()) is not None:
            is_behind = builder.compare("slt", end, integer(columns))
            builder.branches(is_behind, functools.partial(totals.add_numbers, numbers))
        self.write_totals(rows, totals.by_row(runs))

    def _with_lanes(self, point: VectorIndex, end: Val) -> VectorIndex:
        lanes = index_loops.left_over(self.context.builder, point.start, end, point.width)
        return replace(point, lanes=lanes)

    def _numbers(self) -> list[Val] | None:
        """What is behind the end, for each operand; None where that changes no total."""
        numbers, names = self.combination.behind_end, self.combination.operation_of_each
        if all(_NEUTRAL.get(name) == number for name, number in zip(names, numbers, strict=True)):
            return None
        pairs = zip(self.sources, numbers, strict=True)
        return [_constant(source, number) for source, number in pairs]

    def _points(self, rows: Sequence[tuple[Val, ...]], start: Val, runs: int) -> list[VectorIndex]:
        """Some runs of each row, from `start` on."""
        add, (width, _, _) = self.context.builder.add, self.sizes
        starts = [add(start, integer(run * width)) for run in range(runs)]
        return [VectorIndex(row, at, width, PLAIN_VERSION) for row in rows for at in starts]


def _constant(source: Tensor, number: float) -> Val:
    assert isinstance(source.element, ScalarType)
    return constant(source.element, number)
