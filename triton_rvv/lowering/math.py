"""Functions of the math dialect, as vector code of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from triton_rvv.errors import CompileError
from triton_rvv.lowering.arith import call_intrinsic, combine, elementwise, intrinsic
from triton_rvv.lowering.builder import Builder, Val, float_constant, integer, vector_type
from triton_rvv.lowering.context import Context
from triton_rvv.lowering.registry import Handler
from triton_rvv.ttir import Operation
from triton_rvv.types import ScalarType, element_type

__all__ = ["HANDLERS", "exp"]

_LOG2_E = 1.4426950408889634
# ln 2 in two parts: the first has 15 bits, so that its product with an exponent is exact.
_LN2_HIGH = 0.693359375
_LN2_LOW = -2.12194440e-4
# exp(r) = 1 + r + r^2 * p(r) on |r| <= ln(2) / 2; coefficients of p from Cephes' expf, highest
# power first.
_EXP_COEFFICIENTS = (
    1.9875691500e-4,
    1.3981999507e-3,
    8.3334519073e-3,
    4.1665795894e-2,
    1.6666665459e-1,
    5.0000001201e-1,
)
# Adding 1.5 * 2^23 leaves the nearest integer in the low bits of a float's significand.
_ROUNDER = 12582912.0
_ROUNDER_BITS = 0x4B400000
# Beyond these the result is 0 or infinity; inside, the exponent fits two factors.
_EXP_LOWEST, _EXP_HIGHEST = -104.0, 89.0


def exp(builder: Builder, x: Val) -> Val:
    """e^x for float32, lane by lane; NaN, infinities and denormal results are right.

    x = n ln 2 + r is split with two constants for ln 2, exp(r) is a polynomial, and 2^n is
    applied as two factors so that neither overflows before the product does.
    """

    def number(value: float) -> Val:
        return builder.splat(float_constant("float", value), x.width)

    def whole(value: int) -> Val:
        return builder.splat(integer(value, "i32"), x.width)

    def fma(a: Val, b: Val, c: Val) -> Val:
        return call_intrinsic(builder, "llvm.fma", (a, b, c))

    # Comparisons are false for NaN, which therefore passes through.
    x = builder.select(_ordered(builder, "olt", x, number(_EXP_LOWEST)), number(_EXP_LOWEST), x)
    x = builder.select(_ordered(builder, "ogt", x, number(_EXP_HIGHEST)), number(_EXP_HIGHEST), x)
    shifted = fma(x, number(_LOG2_E), number(_ROUNDER))
    n = builder.binary("fsub", shifted, number(_ROUNDER))
    r = fma(n, number(-_LN2_LOW), fma(n, number(-_LN2_HIGH), x))
    p = number(_EXP_COEFFICIENTS[0])
    for coefficient in _EXP_COEFFICIENTS[1:]:
        p = fma(p, r, number(coefficient))
    p = fma(fma(p, r, number(1.0)), r, number(1.0))
    exponent = builder.binary("sub", _bits(builder, shifted), whole(_ROUNDER_BITS))
    half = builder.binary("ashr", exponent, whole(1))
    p = builder.binary("fmul", p, _power_of_two(builder, half))
    return builder.binary("fmul", p, _power_of_two(builder, builder.binary("sub", exponent, half)))


def _ordered(builder: Builder, predicate: str, left: Val, right: Val) -> Val:
    type_ = vector_type("i1", left.width)
    return builder.emit(type_, f"fcmp {predicate} {left.type} {left.ref}, {right.ref}")


def _bits(builder: Builder, value: Val) -> Val:
    return builder.cast("bitcast", value, "i32")


def _power_of_two(builder: Builder, exponent: Val) -> Val:
    """2^exponent as a float32, for exponents from -126 to 127."""
    bias = builder.splat(integer(127, "i32"), exponent.width)
    shift = builder.splat(integer(23, "i32"), exponent.width)
    bits = builder.binary("shl", builder.binary("add", exponent, bias), shift)
    return builder.cast("bitcast", bits, "float")


def _exp(context: Context, operation: Operation) -> None:
    if element_type(operation.result.type) != ScalarType("f32"):
        raise CompileError(
            "exp of another type than fp32 is not supported: convert", operation.line
        )

    def emit(builder: Builder, operands: Sequence[Val]) -> Val:
        return exp(builder, operands[0])

    combine(context, operation, emit, cost=20)


HANDLERS: Mapping[str, Handler] = {
    "math.exp": _exp,
    "math.sqrt": elementwise(intrinsic("llvm.sqrt"), cost=8),
    "math.absf": elementwise(intrinsic("llvm.fabs")),
    "math.fma": elementwise(intrinsic("llvm.fma")),
    "math.floor": elementwise(intrinsic("llvm.floor")),
    "math.ceil": elementwise(intrinsic("llvm.ceil")),
}
