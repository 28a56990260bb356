"""Reductions along the last dimension, in any order: each row becomes one element."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.recipes import Splat
from triton_rvv.lowering.blocks.tensors import EXPENSIVE, Tensor, recipes_under
from triton_rvv.lowering.blocks.vector_index import PLAIN_VERSION, LoopVersion, VectorIndex
from triton_rvv.lowering.llvm.helpers import Variable
from triton_rvv.lowering.llvm.values import TRUE, Val, integer
from triton_rvv.lowering.loops import index_loops, loop_nests, loop_versioning
from triton_rvv.lowering.loops.vector_shape import group_of_runs, vector_width
from triton_rvv.lowering.reductions.combine_region import CombineRegion
from triton_rvv.lowering.reductions.ended_rows import EndedRows, end_of_rows
from triton_rvv.lowering.reductions.partial_reductions import PartialReductions

__all__ = ["reduce_along_rows"]


def reduce_along_rows(
    context: Context,
    sources: Sequence[Tensor],
    combination: CombineRegion,
    results: Sequence[Buffer],
) -> None:
    """Each row becomes one element."""
    width = vector_width(context, sources)
    together = group_of_runs(context, sources, sources[0].shape, width)
    _RowReduction(context, sources, combination, results, width, *together).write()


@dataclass(frozen=True)
class _RowReduction:
    """Each row becomes one element: runs are combined lane by lane, then the lanes.

    A few rows, or runs of one row, are combined side by side.

    Args:
        rows, runs: how many rows, and runs of each, are combined side by side.
    """

    context: Context
    sources: Sequence[Tensor]
    combination: CombineRegion
    results: Sequence[Buffer]
    width: int
    rows: int
    runs: int

    def write(self) -> None:
        """The reduction of all rows."""
        columns = self.sources[0].shape[-1]
        step = self._step if columns > self._step else 0
        parts = (self.context, self.sources, self.combination)
        end = end_of_rows(*parts, self.width) if step else None
        if end is not None:
            sizes = (self.width, self.rows, self.runs)
            EndedRows(*parts, sizes, self._write).write(end, self._walk)
            return
        loop_versioning.guarded(self.context, self.sources, self._walk, step=step)

    @property
    def _step(self) -> int:
        return self.runs * self.width

    def _walk(self, version: LoopVersion) -> None:
        builder, source = self.context.builder, self.sources[0]
        is_small = source.type.elements <= loop_nests.UNROLLED_RUNS * self.width
        is_small = is_small and _stays_in_registers(self.sources)
        masked = replace(version, plain_columns=None)
        for index in index_loops.positions(self.context, source.shape[:-1], is_small, self.rows):
            has_plain = TRUE
            if version.plain_columns is not None:
                has_plain = builder.compare("sge", version.plain_columns, integer(self._step))
            builder.branches(
                has_plain,
                functools.partial(self._group_from, index, version),
                functools.partial(self._group_from, index, masked),
                likely=True,
            )

    def _group_from(self, index: tuple[Val, ...], version: LoopVersion) -> None:
        """Reduce the rows from one on that are combined side by side."""
        builder, columns = self.context.builder, self.sources[0].shape[-1]
        rows = index_loops.neighbours(self.context, index, self.rows)
        points = functools.partial(self._points, rows)
        first = version if version.plain_columns is None else PLAIN_VERSION
        totals = self._totals(points(first, integer(0)))
        if not totals.keep_numbers(first):
            for start, where in index_loops.steps_along(
                self.context, self._step, columns, self._step, version
            ):
                totals.add(points(where, start))
            self._write(rows, totals.by_row(self.runs))
            return
        end = version.plain_columns or integer(columns)
        with builder.loop(integer(self._step), end, integer(self._step)) as start:
            totals.add(points(first, start))
        so_far: Sequence[Sequence[Val]] = totals.by_row(self.runs)
        if version.plain_columns is not None:
            masked = replace(version, plain_columns=None)
            so_far = self._with_rest(so_far, functools.partial(points, masked), end)
        self._write(rows, so_far)

    def _with_rest(
        self, rows: Sequence[Sequence[Val]], points: Callable[[Val], list[VectorIndex]], first: Val
    ) -> Sequence[Sequence[Val]]:
        """The totals of rows, combined with what is from a position on, where that is inside."""
        builder, columns = self.context.builder, integer(self.sources[0].shape[-1])
        variables = [[Variable(builder, value) for value in row] for row in rows]

        def add() -> None:
            rest = self._totals(points(first))
            begin = builder.add(first, integer(self._step))
            with builder.loop(begin, columns, integer(self._step)) as start:
                rest.add(points(start))
            for own, values in zip(variables, rest.by_row(self.runs), strict=True):
                both = self.combination.emit([variable.read() for variable in own], values)
                for variable, value in zip(own, both, strict=True):
                    variable.write(value)

        builder.branches(builder.compare("slt", first, columns), add)
        return [[variable.read() for variable in row] for row in variables]

    def _totals(self, points: Sequence[VectorIndex]) -> PartialReductions:
        return PartialReductions(self.context, self.combination, self.sources, points, self.runs)

    def _points(
        self, rows: Sequence[tuple[Val, ...]], version: LoopVersion, start: Val
    ) -> list[VectorIndex]:
        """The runs of some rows, from `start` on."""
        add, width = self.context.builder.add, self.width
        return [
            VectorIndex(row, add(start, integer(run * width)), width, version)
            for row in rows
            for run in range(self.runs)
        ]

    def _write(self, rows: Sequence[tuple[Val, ...]], totals: Sequence[Sequence[Val]]) -> None:
        for row, values in zip(rows, totals, strict=True):
            place = row or (integer(0),)
            for result, value in zip(self.results, values, strict=True):
                result.write(self.context.builder, VectorIndex(place[:-1], place[-1], 1), value)


def _stays_in_registers(sources: Sequence[Tensor]) -> bool:
    """Whether arrays are read that registers hold as long as rows are known numbers.

    What little is computed of them is written once for each row then.
    """
    leaves = [each for each in recipes_under(sources) if not each.operands]
    is_short = sum(each.cost for each in sources) <= EXPENSIVE
    are_known = all(isinstance(each, Buffer | Affine | Splat) for each in leaves)
    return is_short and are_known and any(isinstance(each, Buffer) for each in leaves)
