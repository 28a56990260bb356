"""Reductions up to the end of a mask, where what is behind it changes nothing."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from triton_rvv.frontend.types import ScalarType
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.recipes import guards_of_all
from triton_rvv.lowering.blocks.tensors import Tensor, recipes_under
from triton_rvv.lowering.blocks.vector_index import PLAIN_VERSION, LoopVersion, VectorIndex
from triton_rvv.lowering.elementwise.arith import constant
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.loops import index_loops, loop_versioning
from triton_rvv.lowering.loops.vector_shape import UNROLLED_RUNS
from triton_rvv.lowering.memory.load_recipe import Load
from triton_rvv.lowering.reductions.partial_reductions import RowGroups
from triton_rvv.lowering.reductions.reduction import Reduction
from triton_rvv.lowering.ttir.combining import COMBINING

__all__ = ["EndedRows", "RowsEnd", "end_along", "numbers_behind"]

# Runs of the rest of a row that are computed side by side, so that one waits less for the other.
_RESTS_TOGETHER = 2


@dataclass(frozen=True)
class RowsEnd:
    """Where rows end, or the rows that are combined with one another.

    Args:
        first: the first column, or row, behind all of them, as i64.
        guards: truth values that, where all of them hold, say that nothing before is left out.
    """

    first: Val
    guards: Sequence[Val]


@rule("end-rows", nothing)
def end_along(reduction: Reduction, axis: int, width: int) -> RowsEnd | None:
    """Where all masks along the reduced dimension have ended, if what is behind is one number.

    What else is kept of the elements, and arrays in registers, are wanted whole; so is what loads
    without a mask read. Rows end within a vector only if an instruction is told how long it is.
    """
    context, sources = reduction.context, reduction.sources
    is_along_rows = axis == len(reduction.shape) - 1
    if is_along_rows and not context.builder.abilities.has_vector_lengths:
        return None
    if not reduction.combination.behind_end:
        return None
    below, in_registers = recipes_under(sources), UNROLLED_RUNS * width
    behind = axis - len(reduction.shape)
    if any(_is_for_all(each, behind, reduction.shape[axis], in_registers) for each in below):
        return None
    if any(source.element.bits == 1 for source in sources):
        return None
    end = loop_versioning.row_ends(context, sources, axis)
    if end is None or end.constant is not None:
        return None
    extents: list[Val | None] = [None] * len(reduction.shape)
    extents[axis] = end
    guards = guards_of_all(context.builder, sources, extents)
    return None if guards is None else RowsEnd(end, guards)


def _is_for_all(tensor: Tensor, along: int, size: int, in_registers: int) -> bool:
    """Whether all of a dimension of a block is wanted; one of another size has none of its own.

    Args:
        along: the dimension, counted from the last one, which is -1.
        in_registers: elements of an array that registers hold as long as sizes are known numbers.
    """
    is_whole = isinstance(tensor, Load) and tensor.mask is None
    is_held = isinstance(tensor, Buffer) and tensor.type.elements <= in_registers
    is_as_long = len(tensor.shape) >= -along and tensor.shape[along] == size
    return tensor.filling is not None or (is_as_long and (is_whole or is_held))


class EndedRows(RowGroups):
    """A reduction of rows with one end: whole runs first, then as many lanes as are left."""

    def reduce(self, end: RowsEnd, otherwise: Callable[[LoopVersion], None]) -> None:
        """The reduction of all rows.

        Args:
            otherwise: writes it for rows of a few elements, and where more than the end of rows
                leaves elements out.
        """
        context, builder = self.reduction.context, self.reduction.builder
        is_long = builder.compare("sge", end.first, integer(self.step))
        builder.branches(
            loop_versioning.all_of(context, [is_long, *end.guards]),
            lambda: self._all_rows(end.first),
            lambda: loop_versioning.under_masks(context, self.reduction.sources, otherwise),
            likely=True,
        )

    def _all_rows(self, end: Val) -> None:
        for rows in self.groups(is_small=False):
            self._group(rows, end)

    def _group(self, rows: Sequence[tuple[Val, ...]], end: Val) -> None:
        """Reduce some rows side by side."""
        builder, step = self.reduction.builder, integer(self.step)
        points = functools.partial(self.points, rows, self.runs, PLAIN_VERSION)
        totals = self.totals(points(integer(0)))
        whole, _ = builder.split(end, self.step)
        with builder.loop(step, whole, step) as start:
            totals.add(points(start))
        rests = min(self.runs, _RESTS_TOGETHER)
        with builder.loop(whole, end, integer(rests * self.width)) as start:
            rest = self.points(rows, rests, PLAIN_VERSION, start)
            totals.add_rest([self._with_lanes(point, end) for point in rest], rests)
        if (numbers := numbers_behind(self.reduction)) is not None:
            is_behind = builder.compare("slt", end, integer(self.reduction.shape[-1]))
            builder.branches(is_behind, functools.partial(totals.add_numbers, numbers))
        self.write(rows, totals.by_row(self.runs))

    def _with_lanes(self, point: VectorIndex, end: Val) -> VectorIndex:
        lanes = index_loops.left_over(self.reduction.builder, point.start, end, point.width)
        return replace(point, lanes=lanes)


def numbers_behind(reduction: Reduction) -> list[Val] | None:
    """What is behind the end, for each operand; None where that changes no total."""
    combination = reduction.combination
    numbers, names = combination.behind_end, combination.operation_of_each
    neutral = [COMBINING[name].neutral for name in names]
    if neutral == [*numbers]:
        return None
    pairs = zip(reduction.sources, numbers, strict=True)
    return [_constant(source, number) for source, number in pairs]


def _constant(source: Tensor, number: float) -> Val:
    assert isinstance(source.element, ScalarType)
    return constant(source.element, number)
