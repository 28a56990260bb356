"""What runs of elements come to so far in a reduction, and how their lanes become one element."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from triton_rvv.lowering.blocks.tensors import EXPENSIVE
from triton_rvv.lowering.blocks.vector_index import LoopVersion, VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.register_groups import multiply_add
from triton_rvv.lowering.llvm.rules import Choices, no, rule
from triton_rvv.lowering.llvm.values import Val, integer, type_suffix
from triton_rvv.lowering.llvm.variable import Variable
from triton_rvv.lowering.llvm.vp_memory import merge_first
from triton_rvv.lowering.loops import index_loops
from triton_rvv.lowering.reductions.reduction import Reduction
from triton_rvv.lowering.ttir.combining import COMBINING

__all__ = ["PartialReductions", "RowGroups"]

# Without RVV's instruction, LLVM goes from lane to lane for these.
_FLOAT_EXTREMES = ("fmin", "fmax")


class PartialReductions:
    """Elements combined so far, for several runs side by side.

    Args:
        points: the first runs.
        runs: how many neighbours of them belong to one row.
        in_order: whether the runs of one row are combined one after another.
    """

    def __init__(
        self,
        reduction: Reduction,
        points: Sequence[VectorIndex],
        runs: int = 1,
        in_order: bool = False,
    ) -> None:
        self._reduction = reduction
        self._builder = builder = reduction.builder
        self._combination = combination = reduction.combination
        self._width = points[0].width
        self._runs = runs
        if self.choices.is_watched:
            self.choices.note("walks", f"{len(points)} x {points[0]}")
        # While costly elements are computed, one total of a row has time to wait for its sums.
        cost = sum(each.cost for each in reduction.sources)
        is_costly = combination.operation_of_each and cost > EXPENSIVE
        self._shared_by = runs if is_costly or in_order else 1
        self._first = self._elements(points)
        first = [
            functools.reduce(self._combined, self._first[start : start + self._shared_by])
            for start in range(0, len(points), self._shared_by)
        ]
        self._variables = [[Variable(builder, value) for value in row] for row in first]
        self._numbers: frozenset[int] = frozenset()

    @property
    def choices(self) -> Choices:
        """By which rules code is written."""
        return self._builder.choices

    @rule("sum-numbers-once", no)
    def keep_numbers(self, version: LoopVersion) -> bool:
        """Have what is one number in all lanes be a scalar, such as a count of elements.

        Args:
            version: of all runs that will be added.

        Returns:
            Whether there is any in a combination that is more than an instruction for each result.
        """
        if not self._combination.operation_of_each:
            self._numbers = self._combination.uniform_results(self._first_numbers(version))
        for place in self._numbers:
            # All runs have the same number, so that what is made of it is computed once.
            shared = Variable(self._builder, self._number(self._first[0][place]))
            for variables in self._variables:
                variables[place] = shared
        return bool(self._numbers)

    def _first_numbers(self, version: LoopVersion) -> list[int]:
        """The sources that are one number everywhere, the same one in all of the first runs."""
        found = []
        for place, values in enumerate(zip(*self._first, strict=True)):
            numbers = [self._builder.repeated(value) for value in values]
            is_same = all(numbers) and len(set(numbers)) == 1
            if is_same and self._reduction.sources[place].is_one_number(version):
                found.append(place)
        return found

    def _number(self, value: Val) -> Val:
        number = self._builder.repeated(value)
        assert number is not None
        return number

    def add(self, points: Sequence[VectorIndex]) -> None:
        """Combine each total with the run at its point."""
        elements = self._elements(points)
        for neighbour in range(self._shared_by):
            self._add(elements[neighbour :: self._shared_by])

    def add_rest(self, points: Sequence[VectorIndex], together: int) -> None:
        """Combine totals with the lanes that are wanted of `together` runs of each row."""
        elements, own = self._elements(points), self._runs // self._shared_by
        for neighbour in range(together):
            totals = self._variables[neighbour % own :: own]
            of_each = zip(
                totals, elements[neighbour::together], points[neighbour::together], strict=True
            )
            for variables, values, point in of_each:
                combined, lanes = self._combine(variables, values), point.lanes
                assert lanes is not None
                for variable, value in zip(variables, combined, strict=True):
                    variable.write(merge_first(self._builder, value, lanes, variable.read()))

    def add_numbers(self, numbers: Sequence[Val]) -> None:
        """Combine each total with a number for each operand."""
        values = [self._builder.splat(number, self._width) for number in numbers]
        self._add([values] * len(self._variables))

    def _add(self, elements: Sequence[Sequence[Val]]) -> None:
        combined = self._builder.interleave(
            [
                functools.partial(self._combine, variables, values)
                for variables, values in zip(self._variables, elements, strict=True)
            ]
        )
        for variables, values in zip(self._variables, combined, strict=True):
            for place, (variable, value) in enumerate(zip(variables, values, strict=True)):
                variable.write(self._number(value) if place in self._numbers else value)

    def by_row(self, runs: int, across_lanes: bool = True) -> list[Sequence[Val]]:
        """The totals, of runs of which `runs` neighbours belong to one row."""
        values = [self._read(variables) for variables in self._variables]
        runs //= self._shared_by
        rows = []
        for first in range(0, len(values), runs):
            total: Sequence[Val] = values[first]
            for other in values[first + 1 : first + runs]:
                total = self._combination.emit(total, other)
            if across_lanes:
                total = _across_lanes(self._reduction, total)
            rows.append(total)
        return rows

    def _read(self, variables: Sequence[Variable]) -> list[Val]:
        values = [variable.read() for variable in variables]
        return [self._builder.splat(value, self._width) for value in values]

    def _elements(self, points: Sequence[VectorIndex]) -> list[list[Val]]:
        return self._builder.interleave(
            [functools.partial(self._reduction.at, point) for point in points]
        )

    def _combine(self, variables: Sequence[Variable], values: Sequence[Val]) -> list[Val]:
        return self._combined(self._read(variables), values)

    def _combined(self, so_far: Sequence[Val], values: Sequence[Val]) -> list[Val]:
        if set(self._combination.operation_of_each) == {"arith.addf"}:
            return [self._added(*each) for each in zip(so_far, values, strict=True)]
        return self._combination.emit(so_far, values)

    def _added(self, total: Val, value: Val) -> Val:
        """A sum of floats; of a product, with one rounding where an instruction does both."""
        builder = self._builder
        both = multiply_add(builder, total, value)
        return both or builder.binary("fadd", total, value, "contract ")


def _across_lanes(reduction: Reduction, values: Sequence[Val]) -> Sequence[Val]:
    """One element from all the lanes, in any order: only for combinations that commute."""
    builder, combination = reduction.builder, reduction.combination
    known = [COMBINING.get(name) for name in combination.operation_of_each]
    kinds, width = ["" if each is None else each.of_lanes for each in known], values[0].width
    goes_by_lane = not reduction.context.target.has_float_extremes
    if goes_by_lane and not set(kinds).isdisjoint(_FLOAT_EXTREMES):
        kinds = []
    if width > 1 and kinds and all(kinds):
        return [_reduce_lanes(builder, *each) for each in zip(kinds, values, strict=True)]
    while width > 1:
        width //= 2
        low = [builder.lanes(value, 0, width) for value in values]
        high = [builder.lanes(value, width, width) for value in values]
        values = combination.emit(low, high)
    return values


def _reduce_lanes(builder: Builder, kind: str, value: Val) -> Val:
    function = f"llvm.vector.reduce.{kind}.{type_suffix(value)}"
    if kind != "fadd":
        return builder.call(value.element, function, [value])
    zero = Val(value.element, "-0.0")
    builder.declarations.add(f"declare {value.element} @{function}({value.element}, {value.type})")
    return builder.emit(value.element, f"call reassoc {value.element} @{function}({zero}, {value})")


@dataclass(frozen=True)
class RowGroups:
    """Rows that are reduced along themselves, a few of them, or runs of one, side by side.

    Args:
        width: elements of a run.
        rows, runs: how many rows, and runs of each, are combined side by side.
    """

    reduction: Reduction
    width: int
    rows: int
    runs: int

    @property
    def step(self) -> int:
        """Elements of a row that are combined side by side."""
        return self.runs * self.width

    def groups(self, is_small: bool) -> Iterator[list[tuple[Val, ...]]]:
        """Some rows after others; the body of the caller's `for` is the body of the loops."""
        context, shape = self.reduction.context, self.reduction.shape
        for index in index_loops.positions(context, shape[:-1], is_small, self.rows):
            yield index_loops.neighbours(context, index, self.rows)

    def points(
        self, rows: Sequence[tuple[Val, ...]], runs: int, version: LoopVersion, start: Val
    ) -> list[VectorIndex]:
        """Some runs of each row, from `start` on."""
        add, width = self.reduction.builder.add, self.width
        starts = [add(start, integer(run * width)) for run in range(runs)]
        return [VectorIndex(row, at, width, version) for row in rows for at in starts]

    def totals(self, points: Sequence[VectorIndex]) -> PartialReductions:
        """What the first runs of some rows come to."""
        return PartialReductions(self.reduction, points, self.runs)

    def write(self, rows: Sequence[tuple[Val, ...]], totals: Sequence[Sequence[Val]]) -> None:
        """Put what some rows become where the outcome goes."""
        for row, values in zip(rows, totals, strict=True):
            self.reduction.write_row(row, values)
