"""Hyperbolic functions and their inverses."""

from __future__ import annotations

import math

from triton_rvv.lowering.math.estimates import are_estimated, quotient
from triton_rvv.lowering.math.exponential import exp_in_range, exp_of_double
from triton_rvv.lowering.math.lanes import (
    Lanes,
    absolute,
    copysign,
    fma,
    in_double,
    polynomial,
    sqrt,
    up_to,
    where,
)
from triton_rvv.lowering.math.logarithm import limits_of_double, log_of_double

__all__ = ["acosh", "asinh", "atanh", "cosh", "sinh", "tanh"]

# (tanh(x) / x - 1) / x^2 in x^2, for |x| <= 0.6.
_TANH = (-5.8998968452e-3, 2.0800143480e-2, -5.3785096854e-2, 1.3331939280e-1, -3.3333298564e-1)
# From here on tanh is 1 in float32.
_TANH_IS_ONE = 10.0
# Beyond this the results of sinh and cosh are infinite in float32.
_HIGHEST = 100.0


def tanh(x: Lanes) -> Lanes:
    """tanh(x) for float32. Largest error: 1.404 ulp."""
    size = absolute(x)
    z = x * x
    near_zero = fma(size * z, polynomial(z, _TANH, keeps_x=True), size)
    limited = up_to(size, _TANH_IS_ONE)
    above_one = exp_in_range(limited + limited) + 1.0
    away = fma(_reciprocal(above_one), -2.0, 1.0)
    # NaN is near zero here, and stays.
    return copysign(where(size > 0.6, away, near_zero), x)


def _reciprocal(x: Lanes) -> Lanes:
    """1 / x for float32, rounded to nearest, of a number that is neither extreme nor negative."""
    one = x.constant(1.0)
    return quotient(one, x) if are_estimated(x.builder, x.value) else one / x


@in_double
def sinh(x: Lanes) -> Lanes:
    """sinh(x) for float32. Largest error found: 0.501 ulp."""
    size = absolute(x)
    size = where(size > _HIGHEST, _HIGHEST, size)
    power = exp_of_double(size)
    # Near zero the difference would cancel; Taylor's series is good to 2^-42 there.
    z = size * size
    series = fma(size * z, polynomial(z, (1 / 5040, 1 / 120, 1 / 6)), size)
    return copysign(where(size < 0.125, series, (power - 1.0 / power) * 0.5), x)


@in_double
def cosh(x: Lanes) -> Lanes:
    """cosh(x) for float32. Largest error found: 0.501 ulp."""
    size = absolute(x)
    power = exp_of_double(where(size > _HIGHEST, _HIGHEST, size))
    return (power + 1.0 / power) * 0.5


@in_double
def asinh(x: Lanes) -> Lanes:
    """asinh(x) for float32. Largest error found: 0.501 ulp."""
    size = absolute(x)
    z = size * size
    y = size + sqrt(z + 1.0)
    series = fma(size * z, polynomial(z, (-5 / 112, 3 / 40, -1 / 6)), size)
    return copysign(where(size < 0.03125, series, limits_of_double(y, log_of_double(y))), x)


@in_double
def acosh(x: Lanes) -> Lanes:
    """acosh(x) for float32. Largest error found: 0.501 ulp."""
    y = x + sqrt((x - 1.0) * (x + 1.0))
    y = where(x >= 1.0, y, math.nan)
    return limits_of_double(y, log_of_double(y))


@in_double
def atanh(x: Lanes) -> Lanes:
    """atanh(x) for float32. Largest error found: 0.501 ulp."""
    size = absolute(x)
    z = size * size
    y = (size + 1.0) / (1.0 - size)
    series = fma(size * z, polynomial(z, (1 / 7, 1 / 5, 1 / 3)), size)
    return copysign(where(size < 0.03125, series, limits_of_double(y, log_of_double(y)) * 0.5), x)
