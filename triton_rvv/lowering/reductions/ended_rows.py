"""Reductions of rows up to the end of their mask, where what is behind it changes nothing."""

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

__all__ = ["EndedRows", "RowsEnd", "end_of_rows"]

# Runs of the rest of a row that are computed side by side, so that one waits less for the other.
_RESTS_TOGETHER = 2


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
def end_of_rows(reduction: Reduction, width: int) -> RowsEnd | None:
    """Where all rows of some blocks end, if what is behind it is one number.

    What else is kept of the elements, and arrays in registers, are wanted whole; so is what loads
    without a mask read.
    """
    context, sources = reduction.context, reduction.sources
    has_lengths = context.builder.abilities.has_vector_lengths
    if not has_lengths or not reduction.combination.behind_end:
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
    is_whole = isinstance(tensor, Load) and tensor.mask is None
    is_held = isinstance(tensor, Buffer) and tensor.type.elements <= in_registers
    return tensor.filling is not None or (tensor.shape[-1] == columns and (is_whole or is_held))


class EndedRows(RowGroups):
    """A reduction of rows with one end: whole runs first, then as many lanes as are left."""

    def reduce(self, end: RowsEnd, otherwise: Callable[[LoopVersion], None]) -> None:
        """The reduction of all rows.

        Args:
            otherwise: writes it for rows of a few elements, and where more than the end of rows
                leaves elements out.
        """
        context, builder = self.reduction.context, self.reduction.builder
        is_long = builder.compare("sge", end.column, integer(self.step))
        builder.branches(
            loop_versioning.all_of(context, [is_long, *end.guards]),
            lambda: self._all_rows(end.column),
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
        if (numbers := self._numbers()) is not None:
            is_behind = builder.compare("slt", end, integer(self.reduction.shape[-1]))
            builder.branches(is_behind, functools.partial(totals.add_numbers, numbers))
        self.write(rows, totals.by_row(self.runs))

    def _with_lanes(self, point: VectorIndex, end: Val) -> VectorIndex:
        lanes = index_loops.left_over(self.reduction.builder, point.start, end, point.width)
        return replace(point, lanes=lanes)

    def _numbers(self) -> list[Val] | None:
        """What is behind the end, for each operand; None where that changes no total."""
        combination = self.reduction.combination
        numbers, names = combination.behind_end, combination.operation_of_each
        neutral = [COMBINING[name].neutral for name in names]
        if neutral == [*numbers]:
            return None
        pairs = zip(self.reduction.sources, numbers, strict=True)
        return [_constant(source, number) for source, number in pairs]


def _constant(source: Tensor, number: float) -> Val:
    assert isinstance(source.element, ScalarType)
    return constant(source.element, number)
