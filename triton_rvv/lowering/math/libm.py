"""Functions of C's math library, called for one lane after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.helpers import call_helper
from triton_rvv.lowering.llvm.values import Val, vector_type
from triton_rvv.lowering.math.lanes import Emit, Lanes, emitter

__all__ = [
    "CALL_COST",
    "by_lanes",
    "float_or_libm",
    "lane_by_lane",
    "libm_function",
    "through_doubles",
]

# Instructions for one lane, roughly; nothing cheaper may be computed again instead of kept.
CALL_COST = 100


def by_lanes(symbol: str, result: str = "") -> Emit:
    """Calls `symbol` with the elements of each lane in turn.

    Args:
        symbol: a C function on the operands' element types.
        result: the LLVM type that it returns; that of its first operand where not given.
    """

    def call(builder: Builder, operands: Sequence[Val]) -> Val:
        return builder.call(result or operands[0].element, symbol, operands)

    return _each_lane(call)


def _each_lane(emit_scalar: Emit) -> Emit:
    """Code for scalars, written once for each lane."""

    def emit(builder: Builder, operands: Sequence[Val]) -> Val:
        width = operands[0].width
        if width == 1:
            return emit_scalar(builder, operands)
        results = []
        for lane in range(width):
            scalars = [builder.lanes(operand, lane, 1) for operand in operands]
            results.append(emit_scalar(builder, scalars))
        type_ = vector_type(results[0].type, width)
        total = Val(type_, "poison")
        for lane, value in enumerate(results):
            total = builder.emit(type_, f"insertelement {total}, {value}, i64 {lane}")
        return total

    return emit


def lane_by_lane(name: str, function: Callable[..., Lanes]) -> Callable[..., Lanes]:
    """A function of scalars that is too long to be written for each lane, as one of vectors.

    Args:
        name: tells it from other functions.
    """
    emit_scalar = emitter(function)

    def call(builder: Builder, operands: Sequence[Val]) -> Val:
        return call_helper(builder, name, operands, emit_scalar)

    emit = _each_lane(call)

    def of_vectors(*operands: Lanes) -> Lanes:
        first = operands[0]
        return first.of(emit(first.builder, [operand.value for operand in operands]))

    return of_vectors


def through_doubles(symbol: str) -> Emit:
    """C's function of doubles `symbol` for operands of which the floats are converted.

    It is far more exact than the one of floats, which some C libraries compute in float32, and the
    result hardly depends on the library.
    """

    def call(*operands: Lanes) -> Lanes:
        last = operands[-1]
        converted = [x.to("double").value if x.is_float else x.value for x in operands]
        return last.of(last.builder.call("double", symbol, converted)).to("float")

    return _each_lane(emitter(call))


def libm_function(symbol: str) -> Callable[..., Lanes]:
    """As `by_lanes`, for expressions."""
    emit = by_lanes(symbol)

    def function(*operands: Lanes) -> Lanes:
        first = operands[0]
        return first.of(emit(first.builder, [operand.value for operand in operands]))

    return function


def float_or_libm(of_floats: Callable[..., Lanes], name: str) -> Emit:
    """`of_floats` for float32, and C's function of this name for float64."""
    of_doubles = libm_function(name)

    def choose(*operands: Lanes) -> Lanes:
        is_double = operands[0].value.element == "double"
        return of_doubles(*operands) if is_double else of_floats(*operands)

    return emitter(choose)
