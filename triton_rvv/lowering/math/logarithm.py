"""Logarithms."""

from __future__ import annotations

import math

from triton_rvv.lowering.llvm.float_lower_bounds import floor_of
from triton_rvv.lowering.llvm.register_groups import fits_group, scaled_and_added, upper_product
from triton_rvv.lowering.math.estimates import are_estimated, rough_reciprocal_root
from triton_rvv.lowering.math.exponential import power_of_two
from triton_rvv.lowering.math.lanes import Lanes, call, copysign, fma, polynomial, where

__all__ = [
    "log",
    "log1p",
    "log2",
    "log10",
    "log_of_double",
    "split",
]

_SMALLEST_NORMAL = 2.0**-126
_SMALLEST_NORMAL_BITS, _ONE_BITS = 0x00800000, 0x3F800000
# How many powers of two subnormal numbers are raised by, and that in the exponent field.
_RAISED = 23
_RAISED_FIELD = _RAISED << 23
# Bits of sqrt(1/2): with them taken off, the exponent field counts from there, so that what is left
# of a number after its power of two is in [sqrt(1/2), sqrt(2)).
_SQRT_HALF_BITS = 0x3F3504F3
# (ln(1+f) - f + f^2/2) / f^3 on that range less 1.
_LOG = (
    -7.3538027704e-2,
    1.2615187466e-1,
    -1.3203458488e-1,
    1.4228099585e-1,
    -1.6621315479e-1,
    1.9999766350e-1,
    -2.5000852346e-1,
    3.3333355188e-1,
)
# (log2(1+f) - f * log2(e)) / f^2 on the same.
_LOG2 = (
    -1.0807386786e-1,
    1.8535788357e-1,
    -1.9143967330e-1,
    2.0475094020e-1,
    -2.3958683014e-1,
    2.8855887055e-1,
    -3.6069789529e-1,
    4.8089838028e-1,
    -7.2134733200e-1,
)
_LN2 = 0.6931471805599453
# log2(e) as a sum of two floats, and log10(e) and log10(2).
_LOG2_E_HIGH = 1.44269502162933349609375
_LOG2_E_LOW = 1.925963033500011079e-8
_LOG10_E_HIGH, _LOG10_E_LOW = 0.4342944920063018798828125, -1.0103049952192756e-08
_LOG10_2_HIGH, _LOG10_2_LOW = 0.3010300099849700927734375, -1.4320988897547789e-08


def log(x: Lanes) -> Lanes:
    """ln(x) for float32. Largest error: 0.929 ulp."""
    exponent, f = split(x)
    tail = polynomial(f, _LOG, keeps_x=True) * f
    result = fma(exponent, _LN2, fma(fma(tail, f, f * -0.5), f, f))
    return _with_limits(x, result)


def log2(x: Lanes) -> Lanes:
    """log2(x) for float32. Largest error: 0.966 ulp."""
    exponent, f = split(x)
    tail = fma(f * polynomial(f, _LOG2, keeps_x=True), f, f * _LOG2_E_LOW)
    return _with_limits(x, exponent + fma(f, _LOG2_E_HIGH, tail))


def log10(x: Lanes) -> Lanes:
    """log10(x) for float32. Largest error: 1.023 ulp."""
    exponent, f = split(x)
    bent = fma(polynomial(f, _LOG, keeps_x=True) * f, f, f * -0.5) * f
    low = fma(f, _LOG10_E_LOW, bent * _LOG10_E_HIGH)
    low = fma(f, _LOG10_E_HIGH, fma(exponent, _LOG10_2_LOW, low))
    return _with_limits(x, fma(exponent, _LOG10_2_HIGH, low))


def log1p(x: Lanes) -> Lanes:
    """ln(1 + x) for float32. Largest error: 0.921 ulp.

    What 1 + x rounds off is not lost: with its power of two 2^n, f = x 2^-n + (2^-n - 1).
    """
    above = x + 1.0
    exponent, _ = split(above)
    # A quarter of x, so that no power of two is subnormal.
    power = power_of_two(2.0 - exponent)
    f = fma(x * 0.25, power, fma(power, 0.25, -1.0))
    tail = polynomial(f, _LOG, keeps_x=True) * f
    result = fma(exponent, _LN2, fma(fma(tail, f, f * -0.5), f, f))
    return copysign(_with_limits(above, result), x)


def split(x: Lanes) -> tuple[Lanes, Lanes]:
    """n as a float, and f with x = 2^n * (1 + f), for positive numbers."""
    if fits_group(x.builder, x.value):
        return _split_by_products(x)
    tiny = x < _SMALLEST_NORMAL
    bits = where(tiny, x * 2.0**23, x).bits() - _SQRT_HALF_BITS
    field = bits >> 23
    fraction = (bits - (field << 23) + _SQRT_HALF_BITS).as_float()
    exponent = field.to("float")
    return where(tiny, exponent - 23.0, exponent), fraction - 1.0


def _split_by_products(x: Lanes) -> tuple[Lanes, Lanes]:
    """The same without masks and shifts, which take the core longer than products."""
    builder = x.builder

    def upper(value: Lanes, is_signed: bool) -> Lanes:
        """An integer shifted right by 23."""
        return x.of(upper_product(builder, value.value, 1 << 9, is_signed))

    def plus(total: Lanes, value: Lanes, factor: int) -> Lanes:
        return x.of(scaled_and_added(builder, total.value, value.value, factor))

    bits = x.bits()
    if _is_normal(x):
        bits = bits - _SQRT_HALF_BITS
    else:
        is_normal = upper(call("llvm.umin", bits, bits.constant(_SMALLEST_NORMAL_BITS)), False)
        raised = plus(bits.constant(_ONE_BITS + _RAISED_FIELD), is_normal, -_RAISED_FIELD)
        bits = (x * raised.as_float()).bits() - raised + (_ONE_BITS - _SQRT_HALF_BITS)
    field = upper(bits, True)
    fraction = (plus(bits, field, -1 << 23) + _SQRT_HALF_BITS).as_float()
    return field.to("float"), fraction - 1.0


def _is_normal(x: Lanes) -> bool:
    """Whether numbers are known to be positive and not subnormal, or NaN, as in ln(1 + e^y)."""
    return floor_of(x.builder, x.value) >= _SMALLEST_NORMAL


def _with_limits(x: Lanes, result: Lanes) -> Lanes:
    """The logarithm where it is finite; else that of 0, of infinity, or NaN."""
    if _is_normal(x):
        return where(x < math.inf, result, x)
    # Positive and finite: the bits of 0 wrap around to the largest number, and a sign is one too.
    ordinary = (x.bits() - 1).below_unsigned(0x7F7FFFFF)
    if are_estimated(x.builder, x.value):
        # Infinity less 0, 0 less infinity, and NaN for what is negative.
        return where(ordinary, result, x - rough_reciprocal_root(x + 0.0))
    limit = where(x.equals(0.0), -math.inf, where(x > 0.0, x, math.nan))
    return where(ordinary, result, limit)


# -- in double precision ---------------------------------------------------------------------------

_SQRT_HALF_BITS_OF_DOUBLE = 0x3FE6A09E667F3BCD
# (atanh(s) - s) / s^3 as a polynomial in s^2 for |s| <= 1/5, to 2^-40.
_ATANH = (
    0.08689035123329594,
    0.09035548673462705,
    0.11112606005914698,
    0.14285693951991438,
    0.20000000127159642,
    0.3333333333306746,
)


def log_of_double(x: Lanes) -> Lanes:
    """ln(x) for float64 that holds a positive finite float32, to 2^-39 of the result.

    x = 2^n * m with m as above, and ln(m) = 2 atanh((m - 1) / (m + 1)).
    """
    bits = x.bits() - _SQRT_HALF_BITS_OF_DOUBLE
    field = bits >> 52
    m = (bits - (field << 52) + _SQRT_HALF_BITS_OF_DOUBLE).as_float()
    s = (m - 1.0) * _reciprocal(m + 1.0)
    z = s * s
    return fma(field.to("double"), _LN2, fma(polynomial(z, _ATANH) * z, s + s, s + s))


def _reciprocal(x: Lanes) -> Lanes:
    """1/x to 2^-46 for float64 near 1: a division of floats, and one step of Newton's method.

    A division of doubles takes five times as long.
    """
    guess = (1.0 / x.to("float")).to("double")
    return fma(fma(-guess, x, 1.0), guess, guess)
