"""Functions of C's math library, called for one lane after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from triton_rvv.lowering.builder import Builder
from triton_rvv.lowering.math.lanes import Emit, Lanes, emitter
from triton_rvv.lowering.values import Val, vector_type

__all__ = ["CALL_COST", "by_lanes", "float_or_libm", "libm_function"]

# Instructions for one lane, roughly; nothing cheaper may be computed again instead of kept.
CALL_COST = 100


def by_lanes(symbol: str, result: str = "") -> Emit:
    """Calls `symbol` with the elements of each lane in turn.

    Args:
        symbol: a C function on the operands' element types.
        result: the LLVM type that it returns; that of its first operand where not given.
    """

    def emit(builder: Builder, operands: Sequence[Val]) -> Val:
        element = result or operands[0].element
        width = operands[0].width
        if width == 1:
            return builder.call(element, symbol, operands)
        type_ = vector_type(element, width)
        total = Val(type_, "poison")
        for lane in range(width):
            arguments = [builder.lanes(operand, lane, 1) for operand in operands]
            value = builder.call(element, symbol, arguments)
            total = builder.emit(type_, f"insertelement {total}, {value}, i64 {lane}")
        return total

    return emit


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
