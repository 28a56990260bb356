"""Reductions along one dimension of a block, with any operation that combines two elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from triton_rvv.errors import CompileError
from triton_rvv.lowering import arith
from triton_rvv.lowering.builder import Builder, Val, integer
from triton_rvv.lowering.context import Context
from triton_rvv.lowering.registry import Handler
from triton_rvv.lowering.tensors import Buffer, Path, Point, Tensor
from triton_rvv.ttir import Operation
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
    """The region of a reduction as code: (elements so far, elements to add) -> elements."""

    def __init__(self, operation: Operation) -> None:
        block = operation.regions[0].block
        self._body, self._return = block.operations[:-1], block.operations[-1]
        self._arguments = block.arguments
        for inner in self._body:
            if inner.name not in arith.EMITTERS:
                raise CompileError(
                    f"{inner.name} is not supported inside a reduction", operation.line
                )

    @property
    def only_operation(self) -> str:
        """The name of the operation where the region holds just one, or the empty string."""
        return self._body[0].name if len(self._body) == 1 else ""

    def emit(self, builder: Builder, left: Sequence[Val], right: Sequence[Val]) -> list[Val]:
        """Write the combination of two groups of scalars or vectors."""
        values = dict(zip(self._arguments, [*left, *right], strict=True))
        for inner in self._body:
            write, _ = arith.EMITTERS[inner.name]
            values[inner.result] = write(builder, [values[operand] for operand in inner.operands])
        return [values[operand] for operand in self._return.operands]


def _reduce(context: Context, operation: Operation) -> None:
    sources = [context.tensor(value) for value in operation.operands]
    combination = _Combination(operation)
    context.prepare(sources)
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
    """Each row becomes one element: runs are combined lane by lane, then the lanes."""
    builder, shape = context.builder, sources[0].shape
    width = context.run_width(sources)

    def walk(path: Path) -> None:
        for index in context.positions(shape[:-1], unrolled=sources[0].type.elements <= width):
            first = Point(index, integer(0), width, path)
            slots = _start(context, [source.at(builder, first) for source in sources])
            if shape[-1] > width:
                with builder.loop(integer(width), integer(shape[-1]), integer(width)) as start:
                    point = Point(index, start, width, path)
                    _step(builder, combination, slots, [s.at(builder, point) for s in sources])
            totals = _across_lanes(builder, combination, _read(builder, slots))
            place = index or (integer(0),)
            for result, total in zip(results, totals, strict=True):
                result.write(builder, Point(place[:-1], place[-1], 1), total)

    context.guarded(sources, walk)


def _across_rows(
    context: Context,
    sources: Sequence[Tensor],
    combination: _Combination,
    results: Sequence[Buffer],
    axis: int,
) -> None:
    """Rows are combined with one another, a run of columns at a time."""
    builder, shape = context.builder, sources[0].shape
    width = context.run_width(sources)
    outer = (*shape[:axis], *shape[axis + 1 : -1])

    def at(index: Sequence[Val], along: Val, start: Val, path: Path) -> list[Val]:
        where = (*index[:axis], along, *index[axis:])
        point = Point(where, start, width, path)
        return [source.at(builder, point) for source in sources]

    def walk(path: Path) -> None:
        for index in context.positions(outer, unrolled=False):
            for start in context.steps(shape[-1], width, unrolled=False):
                slots = _start(context, at(index, integer(0), start, path))
                with builder.loop(integer(1), integer(shape[axis]), integer(1)) as along:
                    _step(builder, combination, slots, at(index, along, start, path))
                for result, total in zip(results, _read(builder, slots), strict=True):
                    result.write(builder, Point(index, start, width), total)

    context.guarded(sources, walk)


def _start(context: Context, values: Sequence[Val]) -> list[tuple[str, Val]]:
    """Variables that hold the elements so far."""
    slots = []
    for value in values:
        slot = context.builder.alloca(value.type, 1)
        context.builder.store(value, slot, 1)
        slots.append((value.type, slot))
    return slots


def _read(builder: Builder, slots: Sequence[tuple[str, Val]]) -> list[Val]:
    return [builder.load(type_, slot, 1) for type_, slot in slots]


def _step(
    builder: Builder,
    combination: _Combination,
    slots: Sequence[tuple[str, Val]],
    values: Sequence[Val],
) -> None:
    """Combine the variables with the next elements."""
    for value, (_, slot) in zip(
        combination.emit(builder, _read(builder, slots), values), slots, strict=True
    ):
        builder.store(value, slot, 1)


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
    name = f"llvm.vector.reduce.fadd.{arith.type_suffix(value)}"
    zero = Val(value.element, "-0.0")
    builder.declarations.add(f"declare {value.element} @{name}({value.element}, {value.type})")
    return builder.emit(value.element, f"call reassoc {value.element} @{name}({zero}, {value})")


def _reduce_lanes(builder: Builder, name: str, value: Val) -> Val:
    return builder.call(value.element, f"{name}.{arith.type_suffix(value)}", [value])


HANDLERS: Mapping[str, Handler] = {"tt.reduce": _reduce}
