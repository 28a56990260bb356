"""Division of floats: by estimates on RVV, and by a reciprocal where all lanes have one divisor."""

from __future__ import annotations

import math
from collections.abc import Sequence

from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.float_lower_bounds import floor_of, number_of
from triton_rvv.lowering.llvm.values import Val, float_constant
from triton_rvv.lowering.math.estimates import are_estimated, quotient
from triton_rvv.lowering.math.lanes import Lanes, absolute, call, copysign, fma, maximum, minimum

__all__ = ["COST_BY_ONE_NUMBER", "divide"]

# Instructions for each register, where what the number needs is prepared once.
COST_BY_ONE_NUMBER = 3

# Of divisors in this range, both parts of the reciprocal are normal.
_SMALLEST_EXPONENT, _LARGEST_EXPONENT = -103, 101
_BIAS, _DIGITS = 127, 23
_EXPONENT_BITS, _ONE_BITS = 0x7F800000, 0x3F800000


def divide(builder: Builder, values: Sequence[Val]) -> Val:
    """The quotient of two values; a vector by one number is multiplied by its reciprocal.

    The reciprocal has two parts, of 48 bits together (Brisebarre, Muller and Raina, "Accelerating
    correctly rounded floating-point division when the divisor is known in advance", 2004). So such
    a quotient is correctly rounded but where it is below 2^-102, and but for about one in forty
    million, which lies almost in the middle between two floats: then it is the other of the two.
    Where the divisor is known to be 2^-103 or more and turns out to be above 2^102, it may be off
    by one, and above 2^126 by eight units in the last place. On its other targets, Triton's `/`
    promises two units for divisors between 2^-126 and 2^126; `tl.div_rn` always divides.
    """
    dividend, divisor = values
    number = builder.repeated(divisor)
    if number is not None and divisor.element == "float":
        if (inverse := _exact_inverse(number)) is not None:
            return builder.binary("fmul", dividend, builder.splat(inverse, dividend.width))
        return _by_one_number(Lanes(builder, dividend), Lanes(builder, number)).value
    if are_estimated(builder, dividend):
        return quotient(Lanes(builder, dividend), Lanes(builder, divisor)).value
    return builder.binary("fdiv", dividend, divisor)


def _exact_inverse(number: Val) -> Val | None:
    """The reciprocal of a constant, where that is a power of two."""
    constant = number_of(number)
    if constant is None or abs(math.frexp(constant)[0]) != 0.5:
        return None
    inverse = 1 / constant
    return float_constant("float", inverse) if 2.0**-126 <= abs(inverse) < 2.0**128 else None


def _by_one_number(x: Lanes, number: Lanes) -> Lanes:
    """A vector by a number, whose sign goes to the vector where it may have one."""
    builder, width = x.builder, x.value.width

    def each(scalar: Lanes) -> Lanes:
        return x.of(builder.splat(scalar.value, width))

    size = number
    floor = floor_of(builder, number.value)
    if not 2.0**_SMALLEST_EXPONENT <= floor < 2.0**_LARGEST_EXPONENT:
        scale = _scale_into_range(number)
        size = absolute(number) * scale
        x = x * each(copysign(scale, number))
    nearest = 1.0 / size
    # Below 1 / size, so that both parts have one sign: an infinite dividend stays infinite.
    most = nearest * (1 - 2.0**-24)
    rest = fma(-most, size, 1.0) * nearest
    # By 0, NaN becomes a number; by infinity, 0.
    rest = minimum(maximum(rest, 2.0**-149), most)
    return fma(x, each(most), x * each(rest))


def _scale_into_range(number: Lanes) -> Lanes:
    """The power of two that brings a divisor between these exponents; without a branch.

    Where a dividend times this is not exact, the quotient is 0 or infinite.
    """
    exponent = number.bits() & _EXPONENT_BITS
    limited = call("llvm.smax", exponent, exponent.constant(_SMALLEST_EXPONENT + _BIAS << _DIGITS))
    limited = call("llvm.smin", limited, exponent.constant(_LARGEST_EXPONENT + _BIAS << _DIGITS))
    return (limited - exponent + _ONE_BITS).as_float()
