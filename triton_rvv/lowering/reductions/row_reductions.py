"""Reductions along the last dimension, in any order: each row becomes one element."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace

from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.recipes import Splat
from triton_rvv.lowering.blocks.tensors import EXPENSIVE, Tensor, recipes_under
from triton_rvv.lowering.blocks.vector_index import PLAIN_VERSION, LoopVersion, VectorIndex
from triton_rvv.lowering.llvm.values import TRUE, Val, integer
from triton_rvv.lowering.llvm.variable import Variable
from triton_rvv.lowering.loops import index_loops, loop_versioning
from triton_rvv.lowering.loops.vector_shape import UNROLLED_RUNS, group_of_runs, vector_width
from triton_rvv.lowering.reductions.ended_rows import EndedRows, end_along
from triton_rvv.lowering.reductions.partial_reductions import RowGroups
from triton_rvv.lowering.reductions.reduction import Reduction

__all__ = ["reduce_along_rows"]


def reduce_along_rows(reduction: Reduction) -> None:
    """Each row becomes one element."""
    context, sources = reduction.context, reduction.sources
    width = vector_width(context, sources)
    together = group_of_runs(context, sources, reduction.shape, width)
    _RowReduction(reduction, width, *together).reduce()


class _RowReduction(RowGroups):
    """Each row becomes one element: runs are combined lane by lane, then the lanes."""

    def reduce(self) -> None:
        """The reduction of all rows."""
        reduction = self.reduction
        step = self.step if reduction.shape[-1] > self.step else 0
        end = end_along(reduction, len(reduction.shape) - 1, self.width) if step else None
        if end is not None:
            EndedRows(reduction, self.width, self.rows, self.runs).reduce(end, self._walk)
            return
        loop_versioning.guarded(reduction.context, reduction.sources, self._walk, step=step)

    def _walk(self, version: LoopVersion) -> None:
        builder, source = self.reduction.builder, self.reduction.sources[0]
        is_small = source.type.elements <= UNROLLED_RUNS * self.width
        is_small = is_small and _stays_in_registers(self.reduction.sources)
        masked = replace(version, plain_columns=None)
        for rows in self.groups(is_small):
            has_plain = TRUE
            if version.plain_columns is not None:
                has_plain = builder.compare("sge", version.plain_columns, integer(self.step))
            builder.branches(
                has_plain,
                functools.partial(self._group, rows, version),
                functools.partial(self._group, rows, masked),
                likely=True,
            )

    def _group(self, rows: Sequence[tuple[Val, ...]], version: LoopVersion) -> None:
        """Reduce the rows that are combined side by side."""
        builder, columns = self.reduction.builder, self.reduction.shape[-1]
        points = functools.partial(self.points, rows, self.runs)
        first = version if version.plain_columns is None else PLAIN_VERSION
        totals = self.totals(points(first, integer(0)))
        if not totals.keep_numbers(first):
            for start, where in index_loops.steps_along(
                self.reduction.context, self.step, columns, self.step, version
            ):
                totals.add(points(where, start))
            self.write(rows, totals.by_row(self.runs))
            return
        end = version.plain_columns or integer(columns)
        with builder.loop(integer(self.step), end, integer(self.step)) as start:
            totals.add(points(first, start))
        so_far: Sequence[Sequence[Val]] = totals.by_row(self.runs)
        if version.plain_columns is not None:
            masked = replace(version, plain_columns=None)
            so_far = self._with_rest(so_far, functools.partial(points, masked), end)
        self.write(rows, so_far)

    def _with_rest(
        self, rows: Sequence[Sequence[Val]], points: Callable[[Val], list[VectorIndex]], first: Val
    ) -> Sequence[Sequence[Val]]:
        """The totals of rows, combined with what is from a position on, where that is inside."""
        builder, columns = self.reduction.builder, integer(self.reduction.shape[-1])
        variables = [[Variable(builder, value) for value in row] for row in rows]

        def add() -> None:
            rest = self.totals(points(first))
            begin = builder.add(first, integer(self.step))
            with builder.loop(begin, columns, integer(self.step)) as start:
                rest.add(points(start))
            for own, values in zip(variables, rest.by_row(self.runs), strict=True):
                before = [variable.read() for variable in own]
                both = self.reduction.combination.emit(before, values)
                for variable, value in zip(own, both, strict=True):
                    variable.write(value)

        builder.branches(builder.compare("slt", first, columns), add)
        return [[variable.read() for variable in row] for row in variables]


def _stays_in_registers(sources: Sequence[Tensor]) -> bool:
    """Whether arrays are read that registers hold as long as rows are known numbers.

    What little is computed of them is written once for each row then.
    """
    leaves = [each for each in recipes_under(sources) if not each.operands]
    is_short = sum(each.cost for each in sources) <= EXPENSIVE
    are_known = all(isinstance(each, Buffer | Affine | Splat) for each in leaves)
    return is_short and are_known and any(isinstance(each, Buffer) for each in leaves)
