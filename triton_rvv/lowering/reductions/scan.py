"""Scans along one dimension of a block, with any associative combination of two elements.

Along the last dimension the lanes of a vector are scanned in log2(lanes) steps (Hillis and Steele,
"Data parallel algorithms", 1986), and the total of one run goes into the next. So the order of
elements is kept, while sums of floats are grouped differently than one after another.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.registry import Handler
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import LoopVersion, VectorIndex
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.llvm.variable import Variable
from triton_rvv.lowering.loops import index_loops, loop_versioning, materialise
from triton_rvv.lowering.loops.vector_shape import vector_width
from triton_rvv.lowering.reductions.combine_region import CombineRegion

__all__ = ["HANDLERS"]

# Rows, or runs of columns, that are scanned side by side to hide the latency of each step.
CHAINS = 4


def _scan(context: Context, operation: Operation) -> None:
    sources = [context.tensor(value) for value in operation.operands]
    materialise.prepare(context, sources)
    types = [TensorType(source.shape, source.element) for source in sources]
    results = [context.buffer(type_) for type_ in types]
    axis = operation.integer("axis")
    is_reverse = operation.attributes.get("reverse") is True
    combination = CombineRegion(context, operation)

    def write(tensors: Sequence[Tensor]) -> None:
        scan = _Scan(context, combination, tensors, results, axis, is_reverse)
        loop_versioning.guarded(
            context, tensors, scan.along_rows if scan.is_along_rows else scan.across_rows
        )

    materialise.where_sums_fit(context, sources, write)
    for value, result in zip(operation.results, results, strict=True):
        context.bind(value, result)


class _Scan:
    """A scan on its way.

    Args:
        context: where the code goes.
        combination: how an earlier and a later element become one.
        sources: the blocks that are scanned together.
        results: where the outcome goes.
        axis: the dimension that is scanned.
        is_reverse: whether the last element is the first one.
    """

    def __init__(
        self,
        context: Context,
        combination: CombineRegion,
        sources: Sequence[Tensor],
        results: Sequence[Buffer],
        axis: int,
        is_reverse: bool,
    ) -> None:
        self._context = context
        self._builder = context.builder
        self._combination = combination
        self._sources = sources
        self._results = results
        self._axis = axis
        self._is_reverse = is_reverse
        self._width = vector_width(context, sources)

    @property
    def is_along_rows(self) -> bool:
        """Whether neighbours are combined with one another, and not whole rows."""
        return self._axis == len(self._sources[0].shape) - 1

    def across_rows(self, version: LoopVersion) -> None:
        """Every column on its own, some runs of columns at a time."""
        shape, width, axis = self._sources[0].shape, self._width, self._axis
        runs = min(CHAINS, shape[-1] // width)
        outer = (*shape[:axis], *shape[axis + 1 : -1])
        for index in index_loops.positions(self._context, outer, unrolled=False):
            for start in index_loops.steps(self._context, shape[-1], runs * width, unrolled=False):
                starts = [self._builder.add(start, integer(run * width)) for run in range(runs)]
                points = functools.partial(
                    index_loops.points_across, index, axis, starts, width, version
                )
                self._chains(shape[axis], 1, points, self._elements)

    def along_rows(self, version: LoopVersion) -> None:
        """Every row on its own, some rows at a time, and each of them run by run."""
        shape, width = self._sources[0].shape, self._width
        rows = min(CHAINS, shape[-2]) if len(shape) > 1 else 1
        for index in index_loops.positions(self._context, shape[:-1], False, rows):
            places = index_loops.neighbours(self._context, index, rows)
            points = functools.partial(_points_along, places, width, version)
            self._chains(shape[-1], width, points, self._prefixes)

    def _chains(
        self,
        size: int,
        step: int,
        points_at: Callable[[Val], list[VectorIndex]],
        values_at: Callable[[VectorIndex], list[Val]],
    ) -> None:
        """Walk the scanned dimension, and carry a total for each of some chains.

        Args:
            size: of the dimension.
            step: how many positions are scanned at once.
            points_at: the point of each chain at a position.
            values_at: the elements at a point, scanned among themselves.
        """
        builder, last = self._builder, integer(size - step)
        first = points_at(last if self._is_reverse else integer(0))
        start = builder.interleave([functools.partial(values_at, point) for point in first])
        totals = [[Variable(builder, self._end(value)) for value in values] for values in start]
        self._write(first, start)
        if size == step:
            return
        with builder.loop(integer(step), integer(size), integer(step)) as place:
            points = points_at(builder.binary("sub", last, place) if self._is_reverse else place)
            parts = [
                functools.partial(self._continue, values_at, *pair)
                for pair in zip(points, totals, strict=True)
            ]
            scanned = builder.interleave(parts)
            self._write(points, scanned)
            for variables, values in zip(totals, scanned, strict=True):
                for variable, value in zip(variables, values, strict=True):
                    variable.write(self._end(value))

    def _continue(
        self,
        values_at: Callable[[VectorIndex], list[Val]],
        point: VectorIndex,
        total: Sequence[Variable],
    ) -> list[Val]:
        values = values_at(point)
        before = [self._builder.splat(variable.read(), point.width) for variable in total]
        return self._combination.emit(before, values)

    def _elements(self, point: VectorIndex) -> list[Val]:
        return [source.at(self._builder, point) for source in self._sources]

    def _prefixes(self, point: VectorIndex) -> list[Val]:
        """A run of a row, each lane combined with all those before it."""
        values, distance = self._elements(point), 1
        while distance < self._width:
            before = [self._moved(value, distance) for value in values]
            combined = self._combination.emit(before, values)
            has_none = self._without_predecessor(distance)
            values = [
                self._builder.select(has_none, *pair) for pair in zip(values, combined, strict=True)
            ]
            distance *= 2
        return values

    def _moved(self, value: Val, distance: int) -> Val:
        """In each lane, what is `distance` lanes before it; anything where there is none."""
        back = distance if self._is_reverse else -distance
        lanes = [lane + back for lane in range(self._width)]
        chosen = [lane if 0 <= lane < self._width else None for lane in lanes]
        moved = self._builder.shuffle(value, chosen)
        return self._builder.emit(moved.type, f"freeze {moved}")

    def _without_predecessor(self, distance: int) -> Val:
        ahead = range(self._width)[::-1] if self._is_reverse else range(self._width)
        lanes = ", ".join("i1 true" if place < distance else "i1 false" for place in ahead)
        return Val(f"<{self._width} x i1>", f"<{lanes}>")

    def _end(self, value: Val) -> Val:
        """What goes into the next step: the last lane of a run of a row, or all of a column's."""
        if self.is_along_rows and value.width > 1:
            lane = 0 if self._is_reverse else value.width - 1
            return self._builder.lanes(value, lane, 1)
        return value

    def _write(self, points: Sequence[VectorIndex], values: Sequence[Sequence[Val]]) -> None:
        for point, elements in zip(points, values, strict=True):
            for result, element in zip(self._results, elements, strict=True):
                result.write(self._builder, point, element)


def _points_along(
    rows: Sequence[tuple[Val, ...]], width: int, version: LoopVersion, place: Val
) -> list[VectorIndex]:
    return [VectorIndex(row, place, width, version) for row in rows]


HANDLERS: Mapping[str, Handler] = {"tt.scan": _scan}
