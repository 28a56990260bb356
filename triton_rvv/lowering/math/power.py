"""Powers and roots."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence

from triton_rvv.lowering.math.estimates import are_estimated, ratio, reciprocal_root
from triton_rvv.lowering.math.exponential import DOUBLE_ROUNDER, exp2_of_sum
from triton_rvv.lowering.math.lanes import (
    Lanes,
    absolute,
    copysign,
    fma,
    in_double,
    polynomial,
    round_half_even,
    sqrt,
    where,
)
from triton_rvv.lowering.math.libm import libm_function
from triton_rvv.lowering.math.logarithm import split

__all__ = [
    "hypot",
    "hypot_of_double",
    "ldexp",
    "pow_",
    "powi",
    "rhypot",
    "rhypot_of_double",
    "rsqrt",
    "rsqrt_rounded",
]

# (atanh(s) - s) / s^3 in s^2 for |s| <= 0.172.
_ATANH = (1.2014547735e-01, 1.4255072176e-01, 2.0000424981e-01, 3.3333331347e-01)
# 2 log2(e) as a sum of two floats.
_TWO_LOG2_E, _TWO_LOG2_E_REST = 2.8853900432586669921875, 3.851926e-8
# Beyond this 2^x is infinite in float32, and 0 below minus this.
_HIGHEST = 200.0


def rsqrt(x: Lanes) -> Lanes:
    """1 / sqrt(x). Largest error for float32: 1.491 ulp, and 1.020 by an estimate."""
    return reciprocal_root(x) if are_estimated(x.builder, x.value) else 1.0 / sqrt(x)


@in_double
def rsqrt_rounded(x: Lanes) -> Lanes:
    """1 / sqrt(x) for float32. Largest error found: 0.501 ulp."""
    return 1.0 / sqrt(x)


def pow_(x: Lanes, y: Lanes) -> Lanes:
    """x^y for float32, with the special cases of C. Largest error found: 2.24 ulp."""
    size = absolute(x)
    result = _exp2_of_product(y, *_log2_in_two(size))
    is_whole = round_half_even(y).equals(y)
    half = y * 0.5
    is_odd = is_whole & round_half_even(half).differs(half)
    negative = x.bits() < 0
    result = where(is_odd, copysign(result, x), result)
    invalid = (x < 0.0) & (size < math.inf) & ~is_whole
    result = where(invalid, math.nan, result)
    # 1 whatever the other operand is, NaN included; and (-1)^inf.
    infinite = absolute(y).equals(math.inf)
    is_one = x.equals(1.0) | y.equals(0.0) | (negative & size.equals(1.0) & infinite)
    return where(is_one, 1.0, result)


def powi(x: Lanes, n: Lanes) -> Lanes:
    """x^n for float32 and integers, of which a float does not tell the large odd ones."""
    result = pow_(absolute(x), n.to("float"))
    return where((n & 1).equals(1), copysign(result, x), result)


def _log2_in_two(size: Lanes) -> tuple[Lanes, Lanes]:
    """log2 of numbers that are not negative as a sum of two floats, to 2^-31 of it.

    2 log2(e) atanh(s) of s = (m - 1) / (m + 1), as a sum of two floats, and the exponent. Of 0 and
    infinity, the first is infinite.
    """
    exponent, f = split(size)
    below = f + 2.0
    lost = f - (below - 2.0)
    inverse = ratio(f.constant(1.0), below)
    s = f * inverse
    s_rest = fma(-s, lost, fma(-s, below, f)) * inverse
    z = s * s
    bent = fma(s * z, polynomial(z, _ATANH, keeps_x=True), fma(s_rest, z, s_rest))
    high = s * _TWO_LOG2_E
    low = fma(s, _TWO_LOG2_E_REST, fma(s, _TWO_LOG2_E, -high))
    low = fma(bent, _TWO_LOG2_E, low)
    total = exponent + high
    low = exponent - total + high + low
    both = total + low
    limit = where(size.equals(0.0), -math.inf, size)
    ordinary = (size.bits() - 1).below_unsigned(0x7F7FFFFF)
    return where(ordinary, both, limit), total - both + low


def _exp2_of_product(y: Lanes, high: Lanes, low: Lanes) -> Lanes:
    """2^(y (high + low))."""
    product = y * high
    rest = fma(y, low, fma(y, high, -product))
    # NaN stays, and makes the power one.
    return exp2_of_sum(product, where(absolute(product) > _HIGHEST, 0.0, rest))


@in_double
def hypot(*coordinates: Lanes) -> Lanes:
    """The length of a vector of float32. Largest error found for two: 0.501 ulp."""
    return _over_infinities(coordinates, math.inf, sqrt(_sum_of_squares(coordinates)))


@in_double
def rhypot(*coordinates: Lanes) -> Lanes:
    """1 / the length of a vector of float32. Largest error found for two: 0.501 ulp."""
    return _over_infinities(coordinates, 0.0, 1.0 / sqrt(_sum_of_squares(coordinates)))


def hypot_of_double(*coordinates: Lanes) -> Lanes:
    """The length of a vector of float64, by C's function."""
    return functools.reduce(libm_function("hypot"), coordinates)


def rhypot_of_double(*coordinates: Lanes) -> Lanes:
    """1 / the length of a vector of float64, by C's function."""
    # A quarter of the vector, so that no length overflows; nothing small is divided.
    large = functools.reduce(operator.or_, (absolute(c) > 1.0 for c in coordinates))
    factor = where(large, coordinates[0].constant(0.25), 1.0)
    return factor / hypot_of_double(*(c * factor for c in coordinates))


def _sum_of_squares(coordinates: Sequence[Lanes]) -> Lanes:
    return functools.reduce(operator.add, (c * c for c in coordinates))


def _over_infinities(coordinates: Sequence[Lanes], value: float, otherwise: Lanes) -> Lanes:
    """`value` where a coordinate is infinite, whatever the others are, NaN included."""
    infinite = functools.reduce(operator.or_, (absolute(c).equals(math.inf) for c in coordinates))
    return where(infinite, value, otherwise)


@in_double
def ldexp(x: Lanes, exponent: Lanes) -> Lanes:
    """x * 2^exponent for float32, rounded once."""
    limited = where(exponent > 400.0, 400.0, exponent)
    limited = where(limited < -400.0, -400.0, limited)
    bits = (limited + DOUBLE_ROUNDER).bits() + 1023 << 52
    return x * bits.as_float()
