"""Element-wise arithmetic, on scalars and on blocks alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from triton_rvv.frontend.attributes import DenseAttribute
from triton_rvv.frontend.float_formats import SMALL_FLOATS
from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering import math
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context, Handler
from triton_rvv.lowering.blocks.recipes import Elementwise, Splat
from triton_rvv.lowering.blocks.tensors import MAX_DEPTH, Tensor
from triton_rvv.lowering.blocks.views import Broadcast
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.predicates import PREDICATES, predicate_of
from triton_rvv.lowering.llvm.values import Val, float_constant, integer
from triton_rvv.lowering.loops import materialise
from triton_rvv.lowering.math.casts import CASTS, cast
from triton_rvv.lowering.math.division import COST_BY_ONE_NUMBER, divide
from triton_rvv.lowering.math.fixed_point import rounding
from triton_rvv.lowering.math.lanes import Emit
from triton_rvv.lowering.math.narrow_floats import computed_wide
from triton_rvv.lowering.ttir.fixed_point import ROUNDS

__all__ = ["EMITTERS", "HANDLERS", "combine", "emitter"]

# Products and sums may be fused into one rounding, as Triton's front end allows by default.
_INSTRUCTIONS = {
    "arith.addi": ("add", 1),
    "arith.subi": ("sub", 1),
    "arith.muli": ("mul", 1),
    "arith.andi": ("and", 1),
    "arith.ori": ("or", 1),
    "arith.xori": ("xor", 1),
    "arith.shli": ("shl", 1),
    "arith.shrsi": ("ashr", 1),
    "arith.shrui": ("lshr", 1),
    "arith.addf": ("fadd contract", 1),
    "arith.subf": ("fsub contract", 1),
    "arith.mulf": ("fmul contract", 1),
}

_INTRINSICS = {
    "arith.minsi": "llvm.smin",
    "arith.maxsi": "llvm.smax",
    "arith.minui": "llvm.umin",
    "arith.maxui": "llvm.umax",
    "arith.maxnumf": "llvm.maxnum",
    "arith.minnumf": "llvm.minnum",
    "arith.maximumf": "llvm.maximum",
    "arith.minimumf": "llvm.minimum",
}


def combine(context: Context, operation: Operation, emit: Emit, cost: int = 1) -> None:
    """Bind the result to `emit` of the operands: at once for scalars, as a recipe for blocks."""
    operands = [context.lowered(value) for value in operation.operands]
    result = operation.result
    if not isinstance(result.type, TensorType):
        scalars = [context.scalar(value) for value in operation.operands]
        context.bind(result, emit(context.builder, scalars))
        return
    tensors = [_as_tensor(operand, result.type) for operand in operands]
    recipe = Elementwise(result.type, emit, tensors, cost)
    context.bind(result, recipe)
    if recipe.depth > MAX_DEPTH:
        materialise.prepare(context, [recipe])
        materialise.materialise(context, recipe)


def _as_tensor(operand: Tensor | Val, like: TensorType) -> Tensor:
    """A scalar operand of a block operation (the condition of a select) as a block."""
    if isinstance(operand, Tensor):
        return operand
    return Splat(TensorType(like.shape, ScalarType("i1")), operand)


def _intrinsic(name: str) -> Emit:
    return lambda builder, operands: builder.intrinsic(name, operands)


def _binary(instruction: str) -> Emit:
    name, _, flags = instruction.partition(" ")
    flags = flags and f"{flags} "
    return lambda builder, values: builder.binary(name, values[0], values[1], flags)


def _shift(operation: Operation) -> Emit:
    instruction, _ = _INSTRUCTIONS[operation.name]
    return (rounding if ROUNDS in operation.attributes else _binary)(instruction)


def _comparison(operation: Operation) -> Emit:
    predicate = predicate_of(operation)
    return computed_wide(operation, lambda builder, values: builder.compare(predicate, *values))


def _select(builder: Builder, operands: Sequence[Val]) -> Val:
    return builder.select(*operands)


def _negate(builder: Builder, operands: Sequence[Val]) -> Val:
    return builder.emit(operands[0].type, f"fneg {operands[0]}")


def constant(element: ScalarType, value: int | float) -> Val:
    """A number as an LLVM constant of the element's type."""
    if element.bits == 1:
        return Val("i1", "true" if value else "false")
    if element.is_kept_as_bits:
        return integer(SMALL_FLOATS[element.name].encode(float(value)), element.llvm)
    if element.is_float:
        return float_constant(element.llvm, float(value))
    return integer(int(value), element.llvm)


def _constant(context: Context, operation: Operation) -> None:
    value, result = operation.attributes["value"], operation.result
    if isinstance(value, DenseAttribute):
        context.bind(result, _constant_block(context.builder, value))
        return
    assert isinstance(result.type, ScalarType)
    assert isinstance(value, int | float)
    context.bind(result, constant(result.type, value))


def _constant_block(builder: Builder, value: DenseAttribute) -> Tensor:
    element = value.type.element
    assert isinstance(element, ScalarType)
    numbers = [constant(element, number) for number in value.elements]
    if len(numbers) == 1:
        return Splat(value.type, numbers[0])
    if element.bits == 1:
        numbers = [integer(int(number.truth is True), "i8") for number in numbers]
    # In row-major order, that is with panels as wide as a row; nobody may write to it.
    rows = Buffer(value.type, builder.constant_array(numbers), value.type.shape[-1])
    return Elementwise(value.type, lambda _, values: values[0], [rows])


# What needs nothing but the operands' elements: how to write it, and what it costs.
EMITTERS: dict[str, tuple[Emit, int]] = {
    "arith.select": (_select, 1),
    "arith.negf": (_negate, 1),
    **{name: (_binary(text), cost) for name, (text, cost) in _INSTRUCTIONS.items()},
    **{name: (_intrinsic(llvm_name), 1) for name, llvm_name in _INTRINSICS.items()},
    "arith.divf": (divide, 8),
    **math.EMITTERS,
}

# The same for operations that are not told apart by their name alone.
_FACTORIES: dict[str, Callable[[Operation], Emit]] = {
    **dict.fromkeys(PREDICATES, _comparison),
    **dict.fromkeys(CASTS, cast),
    **dict.fromkeys(("arith.shrsi", "arith.shrui"), _shift),
}


def emitter(operation: Operation) -> tuple[Emit, int] | None:
    """How to write an operation on its operands' elements and what it costs, where it is such."""
    if operation.name in _FACTORIES:
        return _FACTORIES[operation.name](operation), 1
    if operation.name in math.FACTORIES:
        emit, cost = math.FACTORIES[operation.name](operation)
    elif operation.name in EMITTERS:
        emit, cost = EMITTERS[operation.name]
    else:
        return None
    return computed_wide(operation, emit), cost


def _from_elements(context: Context, operation: Operation) -> None:
    found = emitter(operation)
    assert found is not None
    emit, cost = found
    if operation.name == "arith.divf" and _is_one_by_row(context.lowered(operation.operands[1])):
        cost = COST_BY_ONE_NUMBER
    combine(context, operation, emit, cost)


def _is_one_by_row(operand: Tensor | Val) -> bool:
    """Whether all elements of a row are one number."""
    if isinstance(operand, Broadcast):
        return operand.operands[0].shape[-1] == 1
    return isinstance(operand, Splat)


HANDLERS: Mapping[str, Handler] = {
    "arith.constant": _constant,
    **dict.fromkeys((*EMITTERS, *_FACTORIES, *math.FACTORIES), _from_elements),
}
