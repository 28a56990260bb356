"""Scans along one dimension of a block, with any associative combination of two elements.

Along the last dimension a register's lanes are scanned in log2(lanes) steps (Hillis and Steele,
"Data parallel algorithms", 1986), some registers side by side, and the total of one goes into the
next. So the order of elements is kept, while sums of floats are grouped differently than one after
another.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.blocks.context import Context, Handler
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import LoopVersion, VectorIndex
from triton_rvv.lowering.elementwise.arith import constant
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import Val, element_bits, integer, vector_type
from triton_rvv.lowering.llvm.variable import Variable
from triton_rvv.lowering.llvm.vectors import concatenated
from triton_rvv.lowering.loops import index_loops, loop_versioning, materialise
from triton_rvv.lowering.loops.vector_shape import vector_width, widest_bits
from triton_rvv.lowering.reductions.combine_region import CombineRegion
from triton_rvv.lowering.reductions.reduction import Reduction
from triton_rvv.lowering.ttir.combining import COMBINING

__all__ = ["HANDLERS", "moved", "neutral_numbers"]

# The longest elements that an instruction moves by one place.
_LONGEST_BITS = 64


@rule("fill-moved-lanes", nothing)
def neutral_numbers(reduction: Reduction) -> list[Val] | None:
    """For each operand, a number that changes no other one; None where not all have one known."""
    names = reduction.combination.operation_of_each
    pairs = zip(names, reduction.sources, strict=False)
    numbers = [_neutral(name, source.element) for name, source in pairs]
    known = [number for number in numbers if number is not None]
    return known if known and len(known) == len(numbers) else None


def _neutral(name: str, element: object) -> Val | None:
    if not isinstance(element, ScalarType) or element.bits < 8:
        return None
    if name in ("arith.maxsi", "arith.minsi"):
        least = -(1 << element.bits - 1)
        return constant(element, least if name == "arith.maxsi" else -1 - least)
    known = COMBINING.get(name)
    return None if known is None or known.exact is None else constant(element, known.exact)


def moved(builder: Builder, value: Val, number: Val | None, distance: int, is_reverse: bool) -> Val:
    """In each lane, what is `distance` lanes before it.

    Args:
        number: what is in lanes without one before them; None for anything.
        distance: a power of two, less than there are lanes.
        is_reverse: whether the last lane is the first one.
    """
    if number is None:
        shifted = builder.shuffle(value, _lanes_before(value.width, distance, is_reverse, None))
        return builder.emit(shifted.type, f"freeze {shifted}")
    together = element_bits(value.element) * distance
    if distance == 1 or together > _LONGEST_BITS:
        before = _lanes_before(value.width, distance, is_reverse, value.width)
        return builder.shuffle(value, before, builder.splat(number, value.width))
    # Neighbours move together by one place, into which one instruction puts a number.
    long = builder.reinterpret(value, vector_type(f"i{together}", value.width // distance))
    numbers = builder.reinterpret(builder.splat(number, distance), long.element)
    return builder.reinterpret(moved(builder, long, numbers, 1, is_reverse), value.type)


def _lanes_before(
    width: int, distance: int, is_reverse: bool, otherwise: int | None
) -> list[int | None]:
    back = distance if is_reverse else -distance
    lanes = range(back, back + width)
    return [lane if 0 <= lane < width else otherwise for lane in lanes]


# Rows, or runs of columns, that are scanned side by side to hide the latency of each step.
CHAINS = 4
# Registers of one row that are: half of RVV's hold them, what is before them and the totals.
REGISTERS = 8


def _scan(context: Context, operation: Operation) -> None:
    sources = [context.tensor(value) for value in operation.operands]
    materialise.prepare(context, sources)
    types = [TensorType(source.shape, source.element) for source in sources]
    results = [context.buffer(type_) for type_ in types]
    axis = operation.integer("axis")
    is_reverse = operation.attributes.get("reverse") is True
    combination = CombineRegion(context, operation)

    def write(tensors: Sequence[Tensor]) -> None:
        reduction = Reduction(context, combination, tensors, results)
        scan = _Scan(reduction, axis, is_reverse)
        loop_versioning.guarded(
            context, tensors, scan.along_rows if scan.is_along_rows else scan.across_rows
        )

    materialise.where_sums_fit(context, sources, write)
    for value, result in zip(operation.results, results, strict=True):
        context.bind(value, result)


class _Scan:
    """A scan on its way.

    Args:
        is_reverse: whether the last element is the first one.
    """

    def __init__(self, reduction: Reduction, axis: int, is_reverse: bool) -> None:
        self._reduction = reduction
        self._context, self._builder = reduction.context, reduction.builder
        self._combination = reduction.combination
        self._shape, self._axis = reduction.shape, axis
        self._is_reverse = is_reverse
        self._width = vector_width(self._context, reduction.sources)
        self._neutral = neutral_numbers(reduction) if self.is_along_rows else None
        bits = widest_bits(reduction.sources)
        self._lanes = min(self._width, self._context.target.lanes(bits))

    @property
    def is_along_rows(self) -> bool:
        """Whether neighbours are combined with one another, and not whole rows."""
        return self._axis == len(self._shape) - 1

    def across_rows(self, version: LoopVersion) -> None:
        """Every column on its own, some runs of columns at a time."""
        shape, width, axis = self._shape, self._width, self._axis
        runs = min(CHAINS, shape[-1] // width)
        outer = (*shape[:axis], *shape[axis + 1 : -1])
        for index in index_loops.positions(self._context, outer, unrolled=False):
            for start in index_loops.steps(self._context, shape[-1], runs * width, unrolled=False):
                starts = [self._builder.add(start, integer(run * width)) for run in range(runs)]
                points = functools.partial(
                    index_loops.points_across, index, axis, starts, width, version
                )
                self._scan_column(shape[axis], points)

    def along_rows(self, version: LoopVersion) -> None:
        """Every row on its own, some rows or runs of a row at a time."""
        context, shape, width = self._context, self._shape, self._width
        rows = min(CHAINS, shape[-2]) if len(shape) > 1 else 1
        registers = rows * len(self._reduction.sources) * (width // self._lanes)
        together = 1 if context.runs_once else max(REGISTERS // registers, 1)
        runs = min(together, shape[-1] // width)
        for index in index_loops.positions(context, shape[:-1], False, rows):
            places = index_loops.neighbours(context, index, rows)
            points = functools.partial(self._points_along, places, runs, version)
            self._scan_rows(points, rows, runs)

    def _scan_rows(
        self, points_at: Callable[[Val], list[VectorIndex]], rows: int, runs: int
    ) -> None:
        """Walk some rows side by side, and carry a total for each.

        Args:
            points_at: the points of the next runs, row by row, as many elements behind the first.
            rows: how many rows there are.
            runs: how many runs of each are scanned at once.
        """
        builder, columns, step = self._builder, self._shape[-1], runs * self._width
        totals: Sequence[Sequence[Val]]
        if self._neutral is not None and columns > step:
            numbers = [builder.splat(number, self._lanes) for number in self._neutral]
            begin, totals = 0, [numbers] * rows
        else:
            begin, totals = step, self._scan_runs(points_at(integer(0)), runs, [[]] * rows)
        if begin == columns:
            return
        carried = [[Variable(builder, value) for value in row] for row in totals]
        with builder.loop(integer(begin), integer(columns), integer(step)) as place:
            before = [[variable.read() for variable in row] for row in carried]
            after = self._scan_runs(points_at(place), runs, before)
            for variables, values in zip(carried, after, strict=True):
                for variable, value in zip(variables, values, strict=True):
                    variable.write(value)

    def _points_along(
        self, rows: Sequence[tuple[Val, ...]], runs: int, version: LoopVersion, place: Val
    ) -> list[VectorIndex]:
        """Runs of some rows in the order of the scan, from `place` elements behind the first."""
        builder, width, columns = self._builder, self._width, self._shape[-1]
        if self._is_reverse:
            place = builder.binary("sub", integer(columns - width), place)
            width = -width
        starts = [builder.add(place, integer(run * width)) for run in range(runs)]
        return [VectorIndex(row, at, self._width, version) for row in rows for at in starts]

    def _scan_runs(
        self, points: Sequence[VectorIndex], runs: int, totals: Sequence[Sequence[Val]]
    ) -> list[Sequence[Val]]:
        """Scan `runs` runs of each row, behind what its elements before them have become.

        Args:
            points: of the runs, row by row.
            runs: how many of them belong to one row.
            totals: for each row, a vector for each operand with one number in all lanes; empty
                where nothing comes before.

        Returns:
            The totals with these runs.
        """
        parts = [functools.partial(self._prefixes, point) for point in points]
        prefixes = self._builder.interleave(parts)
        rows = [prefixes[first : first + runs] for first in range(0, len(prefixes), runs)]
        follow = [functools.partial(self._follow, *each) for each in zip(rows, totals, strict=True)]
        followed = self._builder.interleave(follow)
        self._write(points, [run for scanned, _ in followed for run in scanned])
        return [total for _, total in followed]

    def _follow(
        self, runs: Sequence[Sequence[Sequence[Val]]], total: Sequence[Val]
    ) -> tuple[list[list[Val]], Sequence[Val]]:
        """The runs of one row, each behind those before it, and the total with all of them."""
        builder, scanned = self._builder, []
        for run in runs:
            parts = []
            for values in run:
                parts.append(self._combination.emit(total, values) if total else values)
                ends = [self._end_everywhere(value) for value in values]
                total = self._combination.emit(total, ends) if total else ends
            ordered = parts[::-1] if self._is_reverse else parts
            scanned.append([concatenated(builder, each) for each in zip(*ordered, strict=True)])
        return scanned, total

    def _scan_column(self, size: int, points_at: Callable[[Val], list[VectorIndex]]) -> None:
        """Walk the scanned dimension, and carry a total for each of some runs of columns.

        Args:
            points_at: the point of each run at a position.
        """
        builder, last = self._builder, integer(size - 1)
        first = points_at(last if self._is_reverse else integer(0))
        start = builder.interleave(
            [functools.partial(self._reduction.at, point) for point in first]
        )
        totals = [[Variable(builder, value) for value in values] for values in start]
        self._write(first, start)
        if size == 1:
            return
        with builder.loop(integer(1), integer(size), integer(1)) as place:
            points = points_at(builder.binary("sub", last, place) if self._is_reverse else place)
            parts = [
                functools.partial(self._continue, *pair)
                for pair in zip(points, totals, strict=True)
            ]
            scanned = builder.interleave(parts)
            self._write(points, scanned)
            for variables, values in zip(totals, scanned, strict=True):
                for variable, value in zip(variables, values, strict=True):
                    variable.write(value)

    def _continue(self, point: VectorIndex, total: Sequence[Variable]) -> list[Val]:
        values = self._reduction.at(point)
        return self._combination.emit([variable.read() for variable in total], values)

    def _prefixes(self, point: VectorIndex) -> list[list[Val]]:
        """Each register of a run in the order of the scan, its lanes combined with those before."""
        values, builder = self._reduction.at(point), self._builder
        if self._width == 1:
            return [values]
        firsts = range(0, self._width, self._lanes)[:: -1 if self._is_reverse else 1]
        registers = [[builder.lanes(value, at, self._lanes) for value in values] for at in firsts]
        return builder.interleave([functools.partial(self._prefixes_of, r) for r in registers])

    def _prefixes_of(self, values: list[Val]) -> list[Val]:
        """Each lane of a register combined with all those before it."""
        builder, neutral, distance = self._builder, self._neutral, 1
        while distance < self._lanes:
            move = functools.partial(moved, distance=distance, is_reverse=self._is_reverse)
            if neutral is not None:
                pairs = zip(values, neutral, strict=True)
                before = [move(builder, value, number) for value, number in pairs]
                values = self._combination.emit(before, values)
            else:
                before = [move(builder, value, None) for value in values]
                combined = self._combination.emit(before, values)
                has_none = self._without_predecessor(distance)
                pairs = zip(values, combined, strict=True)
                values = [builder.select(has_none, *pair) for pair in pairs]
            distance *= 2
        return values

    def _without_predecessor(self, distance: int) -> Val:
        ahead = range(self._lanes)[:: -1 if self._is_reverse else 1]
        lanes = ", ".join("i1 true" if place < distance else "i1 false" for place in ahead)
        return Val(f"<{self._lanes} x i1>", f"<{lanes}>")

    def _end_everywhere(self, value: Val) -> Val:
        """The last lane of a register in all lanes."""
        if self._lanes == 1:
            return value
        return self._builder.shuffle(
            value, [0 if self._is_reverse else self._lanes - 1] * self._lanes
        )

    def _write(self, points: Sequence[VectorIndex], values: Sequence[Sequence[Val]]) -> None:
        for point, elements in zip(points, values, strict=True):
            self._reduction.write(point, elements)


HANDLERS: Mapping[str, Handler] = {"tt.scan": _scan}
