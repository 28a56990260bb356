"""Reductions along one dimension of a block, with any operation that combines two elements."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from triton_rvv.errors import CompileError
from triton_rvv.lowering import arith, sinks
from triton_rvv.lowering.builder import Builder, Val, Variable, integer, type_suffix
from triton_rvv.lowering.context import Context
from triton_rvv.lowering.registry import Handler
from triton_rvv.lowering.tensors import Buffer, Path, Point, Tensor
from triton_rvv.ttir import Operation, Value
from triton_rvv.types import TensorType

__all__ = ["HANDLERS"]

# Combinations that RVV reduces over a register group in one instruction.
_VECTOR_REDUCTIONS = {
    "arith.addi": "llvm.vector.reduce.add",
    "arith.andi": "llvm.vector.reduce.and",
    "arith.ori": "llvm.vector.reduce.or",
    "arith.xori": "llvm.vector.reduce.xor",
    "arith.minsi": "llvm.vector.reduce.smin",
    "arith.maxsi": "llvm.vector.reduce.smax",
    "arith.minui": "llvm.vector.reduce.umin",
    "arith.maxui": "llvm.vector.reduce.umax",
    "arith.minnumf": "llvm.vector.reduce.fmin",
    "arith.maxnumf": "llvm.vector.reduce.fmax",
}


class _Combination:
    """The region of a reduction as code: (elements so far, elements to add) -> elements.

    Raises:
        CompileError: where the region holds more than arithmetic.
    """

    def __init__(self, context: Context, operation: Operation) -> None:
        block = operation.regions[0].block
        self._context = context
        self._arguments, self._return = block.arguments, block.operations[-1]
        self._body: list[tuple[Operation, arith.Emit]] = []
        for inner in block.operations[:-1]:
            found = arith.emitter(inner)
            if found is None:
                raise CompileError(
                    f"{inner.name} is not supported inside a reduction", operation.line
                )
            self._body.append((inner, found[0]))

    @property
    def only_operation(self) -> str:
        """The name of the operation where the region holds just one, or the empty string."""
        return self._body[0][0].name if len(self._body) == 1 else ""

    def emit(self, builder: Builder, left: Sequence[Val], right: Sequence[Val]) -> list[Val]:
        """Write the combination of two groups of scalars or vectors."""
        values = dict(zip(self._arguments, [*left, *right], strict=True))
        width = left[0].width

        def value_of(operand: Value) -> Val:
            if operand not in values:  # a constant from outside
                return builder.splat(self._context.scalar(operand), width)
            return values[operand]

        for inner, write in self._body:
            values[inner.result] = write(builder, [value_of(operand) for operand in inner.operands])
        return [value_of(operand) for operand in self._return.operands]


def _reduce(context: Context, operation: Operation) -> None:
    sources = [context.tensor(value) for value in operation.operands]
    combination = _Combination(context, operation)
    sinks.prepare(context, sources)
    shape, axis = sources[0].shape, operation.integer("axis")
    kept = (*shape[:axis], *shape[axis + 1 :])
    # A result without dimensions is a block of one element until it is read back.
    results = [context.buffer(TensorType(kept or (1,), source.element)) for source in sources]
    if axis == len(shape) - 1:
        _along_rows(context, sources, combination, results)
    else:
        _across_rows(context, sources, combination, results, axis)
    for value, result in zip(operation.results, results, strict=True):
        scalar = Point((), integer(0), 1)
        context.bind(value, result if kept else result.at(context.builder, scalar))


def _along_rows(
    context: Context,
    sources: Sequence[Tensor],
    combination: _Combination,
    results: Sequence[Buffer],
) -> None:
    """Each row becomes one element: runs are combined lane by lane, then the lanes.

    A few rows, or runs of one row, are combined side by side.
    """
    builder, shape = context.builder, sources[0].shape
    width = sinks.run_width(context, sources)
    rows, runs = sinks.group_of_runs(sources, shape, width)

    def walk(path: Path) -> None:
        for index in sinks.positions(context, shape[:-1], False, rows):
            group = [
                (row, run * width)
                for row in sinks.neighbours(context, index, rows)
                for run in range(runs)
            ]

            points = functools.partial(_points_of_group, builder, group, width, path)
            totals = _Totals(builder, combination, sources, points(integer(0)))
            if shape[-1] > runs * width:
                end, step = integer(shape[-1]), integer(runs * width)
                with builder.loop(step, end, step) as start:
                    totals.add(points(start))
            for row, values in zip(group[::runs], totals.by_row(runs), strict=True):
                place = row[0] or (integer(0),)
                for result, value in zip(results, values, strict=True):
                    result.write(builder, Point(place[:-1], place[-1], 1), value)

    sinks.guarded(context, sources, walk)


def _points_of_group(
    builder: Builder,
    group: Sequence[tuple[tuple[Val, ...], int]],
    width: int,
    path: Path,
    start: Val,
) -> list[Point]:
    """The runs of a group of rows and offsets in them, from `start` on."""
    return [Point(row, builder.add(start, integer(offset)), width, path) for row, offset in group]


def _points_across(
    index: tuple[Val, ...], axis: int, starts: Sequence[Val], width: int, path: Path, along: Val
) -> list[Point]:
    """The runs at position `along` of the reduced dimension."""
    where = (*index[:axis], along, *index[axis:])
    return [Point(where, start, width, path) for start in starts]


def _across_rows(
    context: Context,
    sources: Sequence[Tensor],
    combination: _Combination,
    results: Sequence[Buffer],
    axis: int,
) -> None:
    """Rows are combined with one another, a few runs of columns at a time."""
    builder, shape = context.builder, sources[0].shape
    width = sinks.run_width(context, sources)
    _, runs = sinks.group_of_runs(sources, shape, width)
    outer = (*shape[:axis], *shape[axis + 1 : -1])

    def walk(path: Path) -> None:
        for index in sinks.positions(context, outer, unrolled=False):
            for start in sinks.steps(context, shape[-1], runs * width, unrolled=False):
                starts = [builder.add(start, integer(run * width)) for run in range(runs)]

                points = functools.partial(_points_across, index, axis, starts, width, path)
                totals = _Totals(builder, combination, sources, points(integer(0)))
                with builder.loop(integer(1), integer(shape[axis]), integer(1)) as along:
                    totals.add(points(along))
                for at, values in zip(starts, totals.by_row(1, across_lanes=False), strict=True):
                    for result, value in zip(results, values, strict=True):
                        result.write(builder, Point(index, at, width), value)

    sinks.guarded(context, sources, walk)


class _Totals:
    """Elements combined so far, for several runs side by side.

    Args:
        builder: writes the code.
        combination: how two elements become one.
        sources: the blocks that are reduced together.
        points: the first run of each total.
    """

    def __init__(
        self,
        builder: Builder,
        combination: _Combination,
        sources: Sequence[Tensor],
        points: Sequence[Point],
    ) -> None:
        self._builder = builder
        self._combination = combination
        self._sources = sources
        self._variables = [
            [Variable(builder, value) for value in values] for values in self._elements(points)
        ]

    def add(self, points: Sequence[Point]) -> None:
        """Combine each total with the run at its point."""
        elements = self._elements(points)
        combined = self._builder.interleave(
            [
                functools.partial(self._combine, variables, values)
                for variables, values in zip(self._variables, elements, strict=True)
            ]
        )
        for variables, values in zip(self._variables, combined, strict=True):
            for variable, value in zip(variables, values, strict=True):
                variable.write(value)

    def by_row(self, runs: int, across_lanes: bool = True) -> list[Sequence[Val]]:
        """The totals, `runs` neighbours of which belong to one row."""
        values = [[variable.read() for variable in variables] for variables in self._variables]
        rows = []
        for first in range(0, len(values), runs):
            total: Sequence[Val] = values[first]
            for other in values[first + 1 : first + runs]:
                total = self._combination.emit(self._builder, total, other)
            if across_lanes:
                total = _across_lanes(self._builder, self._combination, total)
            rows.append(total)
        return rows

    def _elements(self, points: Sequence[Point]) -> list[list[Val]]:
        return self._builder.interleave(
            [functools.partial(self._elements_at, point) for point in points]
        )

    def _elements_at(self, point: Point) -> list[Val]:
        return [source.at(self._builder, point) for source in self._sources]

    def _combine(self, variables: Sequence[Variable], values: Sequence[Val]) -> list[Val]:
        so_far = [variable.read() for variable in variables]
        return self._combination.emit(self._builder, so_far, values)


def _across_lanes(
    builder: Builder, combination: _Combination, values: Sequence[Val]
) -> Sequence[Val]:
    """One element from all the lanes; the order of combination is free in Triton."""
    width = values[0].width
    if width > 1 and (name := combination.only_operation):
        if name == "arith.addf":
            return [_sum_lanes(builder, values[0])]
        if name in _VECTOR_REDUCTIONS:
            return [_reduce_lanes(builder, _VECTOR_REDUCTIONS[name], values[0])]
    while width > 1:
        width //= 2
        low = [builder.lanes(value, 0, width) for value in values]
        high = [builder.lanes(value, width, width) for value in values]
        values = combination.emit(builder, low, high)
    return values


def _sum_lanes(builder: Builder, value: Val) -> Val:
    name = f"llvm.vector.reduce.fadd.{type_suffix(value)}"
    zero = Val(value.element, "-0.0")
    builder.declarations.add(f"declare {value.element} @{name}({value.element}, {value.type})")
    return builder.emit(value.element, f"call reassoc {value.element} @{name}({zero}, {value})")


def _reduce_lanes(builder: Builder, name: str, value: Val) -> Val:
    return builder.call(value.element, f"{name}.{type_suffix(value)}", [value])


HANDLERS: Mapping[str, Handler] = {"tt.reduce": _reduce}
