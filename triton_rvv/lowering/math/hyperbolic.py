"""Hyperbolic functions and their inverses."""

from __future__ import annotations

import math

from triton_rvv.lowering.math.estimates import ratio, square_root
from triton_rvv.lowering.math.exponential import (
    exp_in_range,
    halves_of_power,
    less_whole_powers,
)
from triton_rvv.lowering.math.lanes import (
    Lanes,
    absolute,
    copysign,
    fma,
    polynomial,
    up_to,
    where,
)
from triton_rvv.lowering.math.logarithm import log1p

__all__ = ["acosh", "asinh", "atanh", "cosh", "sinh", "tanh"]

# (tanh(x) / x - 1) / x^2 in x^2, for |x| <= 0.6.
_TANH = (-5.8998968452e-3, 2.0800143480e-2, -5.3785096854e-2, 1.3331939280e-1, -3.3333298564e-1)
# From here on tanh is 1 in float32.
_TANH_IS_ONE = 10.0
# (sinh(r) / r - 1) / r^2 and (cosh(r) - 1) / r^2 in r^2, for |r| <= ln(2) / 2.
_SINH = (1.9959326892e-04, 8.3331912756e-03, 1.6666667163e-01)
_COSH = (1.3935758034e-03, 4.1666455567e-02, 5.0000000000e-01)
# From here on asinh(x) is ln(2x) in float32, and squares do not overflow.
_ASINH_IS_LOG = 2.0**30
_LN2 = 0.6931471805599453


def tanh(x: Lanes) -> Lanes:
    """tanh(x) for float32. Largest error: 1.404 ulp."""
    size = absolute(x)
    z = x * x
    near_zero = fma(size * z, polynomial(z, _TANH, keeps_x=True), size)
    limited = up_to(size, _TANH_IS_ONE)
    above_one = exp_in_range(limited + limited) + 1.0
    away = fma(ratio(x.constant(1.0), above_one), -2.0, 1.0)
    # NaN is near zero here, and stays.
    return copysign(where(size > 0.6, away, near_zero), x)


def sinh(x: Lanes) -> Lanes:
    """sinh(x) for float32. Largest error: 2.73 ulp."""
    up, down, sine, cosine = _addends(x)
    return copysign(fma(up - down, cosine, (up + down) * sine) * 2.0, x)


def cosh(x: Lanes) -> Lanes:
    """cosh(x) for float32. Largest error: 2.54 ulp."""
    up, down, sine, cosine = _addends(x)
    return fma(up + down, cosine, (up - down) * sine) * 2.0


def _addends(x: Lanes) -> tuple[Lanes, Lanes, Lanes, Lanes]:
    """2^(n-2), 2^(-n-2), sinh(r) and cosh(r) for |x| = n ln 2 + r.

    Theorems of addition make both functions of these. Neither loses digits: for n = 0 the sine is
    that of r.
    """
    shifted, r = less_whole_powers(absolute(x))
    up, down = halves_of_power(shifted)
    z = r * r
    sine = fma(r * z, polynomial(z, _SINH, keeps_x=True), r)
    return up, down, sine, fma(polynomial(z, _COSH, keeps_x=True), z, 1.0)


def asinh(x: Lanes) -> Lanes:
    """asinh(x) for float32. Largest error: 2.00 ulp.

    ln(1 + |x| + (sqrt(1 + x^2) - 1)), of which the last addend is x^2 / (1 + sqrt(1 + x^2)).
    """
    size = absolute(x)
    is_large = size > _ASINH_IS_LOG
    square = size * size
    more = ratio(square, square_root(square + 1.0) + 1.0)
    result = log1p(where(is_large, size, size + more))
    return copysign(where(is_large, result + _LN2, result), x)


def acosh(x: Lanes) -> Lanes:
    """acosh(x) for float32. Largest error: 1.92 ulp. Of t = x - 1, ln(1 + t + sqrt(2t + t^2))."""
    above = x - 1.0
    is_large = x > _ASINH_IS_LOG
    root = square_root(fma(above, above, above + above))
    result = log1p(where(is_large, x, above + root))
    return where(x >= 1.0, where(is_large, result + _LN2, result), math.nan)


def atanh(x: Lanes) -> Lanes:
    """atanh(x) for float32. Largest error: 2.00 ulp. Half of ln(1 + 2 |x| / (1 - |x|))."""
    size = absolute(x)
    return copysign(log1p(ratio(size + size, 1.0 - size)) * 0.5, x)
