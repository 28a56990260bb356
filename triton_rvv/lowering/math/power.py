"""Powers and roots."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence

from triton_rvv.lowering.math.estimates import are_estimated, reciprocal_root
from triton_rvv.lowering.math.exponential import DOUBLE_ROUNDER, exp2_of_double
from triton_rvv.lowering.math.lanes import (
    Lanes,
    absolute,
    copysign,
    in_double,
    round_half_even,
    sqrt,
    where,
)
from triton_rvv.lowering.math.libm import libm_function
from triton_rvv.lowering.math.logarithm import limits_of_double, log2_of_double

__all__ = [
    "cbrt",
    "hypot",
    "hypot_of_double",
    "ldexp",
    "pow_",
    "rcbrt",
    "rhypot",
    "rhypot_of_double",
    "rsqrt",
    "rsqrt_rounded",
]

# Beyond this 2^x is infinite in float32, and 0 below minus this.
_HIGHEST = 200.0


def rsqrt(x: Lanes) -> Lanes:
    """1 / sqrt(x). Largest error for float32: 1.491 ulp, and 1.020 by an estimate."""
    return reciprocal_root(x) if are_estimated(x.builder, x.value) else 1.0 / sqrt(x)


@in_double
def rsqrt_rounded(x: Lanes) -> Lanes:
    """1 / sqrt(x) for float32. Largest error found: 0.501 ulp."""
    return 1.0 / sqrt(x)


@in_double
def pow_(x: Lanes, y: Lanes) -> Lanes:
    """x^y for float32, with the special cases of C. Largest error found: 0.501 ulp."""
    size = absolute(x)
    result = _exp2(y * _log2(size))
    is_whole = round_half_even(y).equals(y)
    half = y * 0.5
    is_odd = is_whole & round_half_even(half).differs(half)
    negative = x.bits() < 0
    result = where(is_odd, copysign(result, x), result)
    invalid = (x < 0.0) & (size < math.inf) & ~is_whole & y.equals(y)
    result = where(invalid, math.nan, result)
    # 1 whatever the other operand is, NaN included; and (-1)^inf.
    infinite = absolute(y).equals(math.inf)
    is_one = x.equals(1.0) | y.equals(0.0) | (negative & size.equals(1.0) & infinite)
    return where(is_one, 1.0, result)


@in_double
def cbrt(x: Lanes) -> Lanes:
    """The cube root for float32. Largest error found: 0.501 ulp."""
    return copysign(_exp2(_log2(absolute(x)) * (1 / 3)), x)


@in_double
def rcbrt(x: Lanes) -> Lanes:
    """1 / cbrt(x) for float32. Largest error found: 0.501 ulp."""
    return copysign(_exp2(_log2(absolute(x)) * (-1 / 3)), x)


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


def _log2(size: Lanes) -> Lanes:
    return limits_of_double(size, log2_of_double(size))


def _exp2(x: Lanes) -> Lanes:
    x = where(x > _HIGHEST, _HIGHEST, x)
    return exp2_of_double(where(x < -_HIGHEST, -_HIGHEST, x))
