"""Division of floats: by estimates on RVV, and by a reciprocal where all lanes have one divisor."""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.lowering.builder import Builder
from triton_rvv.lowering.math.estimates import LARGEST_REMAINDER, are_estimated, quotient
from triton_rvv.lowering.math.lanes import (
    Lanes,
    absolute,
    call,
    copysign,
    fma,
    maximum,
    minimum,
    where,
)
from triton_rvv.lowering.values import Val

__all__ = ["divide"]

# The exponents, with their bias, of divisors whose reciprocals are normal and lose no digits.
_SMALLEST_EXPONENT, _LARGEST_EXPONENT = 24, 252
_EXPONENT_BITS, _ONE_BITS = 0x7F800000, 0x3F800000


def divide(builder: Builder, values: Sequence[Val]) -> Val:
    """The quotient of two values; a vector by one number is multiplied by its reciprocal.

    A step of Newton's method makes such a quotient the correctly rounded one (Markstein,
    "Computation of elementary functions on the IBM RISC System/6000 processor", 1990), but where
    the dividend is below 2^-102, or the quotient subnormal or within two units of the largest
    float: then it may be off in the last place. On its other targets, Triton's `/` promises two
    units in the last place for divisors between 2^-126 and 2^126; `tl.div_rn` always divides.
    """
    dividend, divisor = values
    number = builder.repeated(divisor)
    if number is not None and divisor.element == "float":
        return _by_one_number(Lanes(builder, dividend), Lanes(builder, number)).value
    if are_estimated(builder, dividend):
        return quotient(Lanes(builder, dividend), Lanes(builder, divisor)).value
    return builder.binary("fdiv", dividend, divisor)


def _by_one_number(x: Lanes, number: Lanes) -> Lanes:
    """A vector by a number, whose sign goes to the vector, so that quotients of 0 keep theirs."""
    builder, width = x.builder, x.value.width

    def each(scalar: Lanes) -> Lanes:
        return x.of(builder.splat(scalar.value, width))

    scale = _scale_into_range(number)
    size = absolute(number) * scale
    inverse = 1.0 / size
    x = x * each(copysign(scale, number))
    rough = x * each(inverse)
    rest = fma(rough, each(size), -x)
    # Quotients by 0 stay infinite only if what is taken off is finite.
    correction = each(minimum(inverse, 2.0**126))
    if builder.abilities.has_one_nan:
        # RISC-V: of NaN and a number, the number is the smaller and the larger. Where the remainder
        # is NaN, something positive is subtracted, which leaves -0 as it is.
        rest = maximum(minimum(rest, LARGEST_REMAINDER), -LARGEST_REMAINDER)
        return fma(-rest, correction, rough)
    exact = fma(-rest, correction, rough)
    return where(exact.equals(exact), exact, rough)


def _scale_into_range(number: Lanes) -> Lanes:
    """The power of two that brings a divisor between these exponents; without a branch.

    Where a dividend times this is not exact, the quotient is 0 or infinite.
    """
    exponent = number.bits() & _EXPONENT_BITS
    limited = call("llvm.smax", exponent, exponent.constant(_SMALLEST_EXPONENT << 23))
    limited = call("llvm.smin", limited, exponent.constant(_LARGEST_EXPONENT << 23))
    return (limited - exponent + _ONE_BITS).as_float()
