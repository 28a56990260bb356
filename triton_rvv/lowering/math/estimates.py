"""Quotients and square roots from the estimates of 7 bits that RVV has instructions for.

A register of hard quotients or roots takes a SpacemiT X60 40 cycles, in which nothing else is
computed. Newton's method needs 15 to 25, and other chains go on meanwhile. Its last step, a
remainder without an error, makes the result the correctly rounded one: Markstein, "Computation of
elementary functions on the IBM RISC System/6000 processor", 1990; Muller et al., "Handbook of
Floating-Point Arithmetic", 2nd ed., 2018, section 4.7.
"""

from __future__ import annotations

from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.float_lower_bounds import floor_of
from triton_rvv.lowering.llvm.register_groups import DYNAMIC_ROUNDING, fits_group, group_call
from triton_rvv.lowering.llvm.values import Val
from triton_rvv.lowering.math.lanes import (
    Lanes,
    call,
    copysign,
    fma,
    minimum,
    polynomial,
    sqrt,
    where,
)

__all__ = [
    "are_estimated",
    "quotient",
    "ratio",
    "reciprocal_root",
    "root",
    "rough_reciprocal_root",
    "square_root",
]

# Remainders of quotients that are finite are less.
_LARGEST_REMAINDER = 2.0**110
_EXPONENT_BITS = 0x7F800000
# The exponents of a number and its scale add up to that of a number in [1/2, 1).
_SUM_OF_EXPONENTS, _SMALLEST_SCALE = 0x7E800000, 0x00200000


def are_estimated(builder: Builder, value: Val) -> bool:
    """Whether there is an instruction that estimates for values of this type."""
    return value.element == "float" and fits_group(builder, value)


def ratio(x: Lanes, d: Lanes) -> Lanes:
    """x / d, by an estimate where there are any."""
    return quotient(x, d) if are_estimated(x.builder, x.value) else x / d


def square_root(x: Lanes) -> Lanes:
    """The square root, likewise."""
    return root(x) if are_estimated(x.builder, x.value) else sqrt(x)


def quotient(x: Lanes, d: Lanes) -> Lanes:
    """x / d for float32, rounded to nearest.

    It may be off by two units in the last place where the quotient or the dividend is below 2^-102,
    and where the quotient is within two units of the largest float. It may be off by one where the
    divisor is above 2^126 and known to be 2^-125 or more, and is where the divisor is the last
    float below a power of two and the dividend a power of two.
    """
    floor = floor_of(d.builder, d.value)
    if floor < 2.0**-125:
        scale = _scale_below_one(d)
        x, d = x * scale, d * scale
    # Infinite divisors leave NaN here, of which the smaller number is the other one.
    inverse = _estimate("vfrec7", d)
    inverse = inverse * minimum(2.0 - d * inverse, 1.5)
    inverse = fma(minimum(fma(-d, inverse, 1.0), 0.5), inverse, inverse)
    rough = x * inverse
    rest = fma(rough, d, -x)
    if floor >= 1.0:
        # Nothing overflows. A zero keeps its sign, since the difference of two zeros has none.
        return fma(-minimum(rest, _LARGEST_REMAINDER), inverse, rough)
    exact = fma(-rest, inverse, rough)
    signed = exact if floor >= 0.0 else copysign(exact, rough)
    return where(exact.equals(exact), signed, rough)


def _scale_below_one(d: Lanes) -> Lanes:
    """A power of two that brings a divisor below 1, and all but subnormal ones to 1/2 at least.

    Where a dividend times this overflows, so does the quotient.
    """
    scale = _SUM_OF_EXPONENTS - (d.bits() & _EXPONENT_BITS)
    return call("llvm.smax", scale, scale.constant(_SMALLEST_SCALE)).as_float()


def root(x: Lanes) -> Lanes:
    """The square root for float32, rounded to nearest, but for the last place below 2^-100.

    By Goldschmidt's iteration (Markstein, "Software division and square root using Goldschmidt's
    algorithms", 2004).
    """
    estimate = _estimate("vfrsqrt7", x)
    rough, half = x * estimate, estimate * 0.5
    rest = 0.5 - rough * half
    rough, half = fma(rough, rest, rough), fma(half, rest, half)
    rest = fma(-rough, half, 0.5)
    rough, half = fma(rough, rest, rough), fma(half, rest, half)
    exact = fma(-fma(rough, rough, -x), half, rough)
    # Zeros, infinity and NaN.
    return where(exact.equals(exact), exact, _estimate("vfrec7", estimate))


def reciprocal_root(x: Lanes) -> Lanes:
    """1 / sqrt(x) for float32, by a series in what an estimate leaves. Largest error: 1.020 ulp."""
    estimate = _estimate("vfrsqrt7", x)
    # NaN at zeros and infinity, where the estimate is the result: any number leaves it as it is.
    rest = minimum(fma(-(x * estimate), estimate, 1.0), 0.5)
    return fma(polynomial(rest, (5 / 16, 3 / 8, 0.5), keeps_x=True) * rest, estimate, estimate)


def rough_reciprocal_root(x: Lanes) -> Lanes:
    """1 / sqrt(x) to 7 bits; infinite for 0, 0 for infinity, and NaN for negative numbers."""
    return _estimate("vfrsqrt7", x)


def _estimate(name: str, x: Lanes) -> Lanes:
    """RVV's instruction on a group of registers."""
    rounding = [DYNAMIC_ROUNDING] if name == "vfrec7" else []
    return x.of(group_call(x.builder, f"{name}.{{}}", [None, x.value, *rounding]))
