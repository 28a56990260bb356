"""Angles from their sines, cosines and tangents, in double precision and rounded once."""

from __future__ import annotations

from triton_rvv.lowering.math.lanes import (
    Lanes,
    absolute,
    copysign,
    fma,
    in_double,
    polynomial,
    sqrt,
    where,
)

__all__ = ["acos", "asin", "atan", "atan2"]

_PI = 3.141592653589793
_TAN_EIGHTH_PI = 0.41421356237309503
# (atan(t) / t - 1) / t^2 in t^2, for |t| <= tan(pi / 8).
_ATAN = (
    -0.03788377792292525,
    0.06988717514919299,
    -0.0899623150938786,
    0.11103929964548662,
    -0.14285418987148576,
    0.19999994187916562,
    -0.33333333294255374,
)


@in_double
def atan(x: Lanes) -> Lanes:
    """atan(x) for float32. Largest error found: 0.501 ulp."""
    return copysign(_first_quadrant(absolute(x), x.constant(1.0)), x)


@in_double
def atan2(y: Lanes, x: Lanes) -> Lanes:
    """The angle of the point (x, y) for float32. Largest error found: 0.501 ulp."""
    return copysign(_upper_half(absolute(y), x), y)


@in_double
def asin(x: Lanes) -> Lanes:
    """asin(x) for float32. Largest error found: 0.501 ulp."""
    return copysign(_first_quadrant(absolute(x), sqrt((1.0 - x) * (x + 1.0))), x)


@in_double
def acos(x: Lanes) -> Lanes:
    """acos(x) for float32. Largest error found: 0.501 ulp."""
    return _upper_half(sqrt((1.0 - x) * (x + 1.0)), x)


def _upper_half(y: Lanes, x: Lanes) -> Lanes:
    """The angle of (x, y), from 0 to pi, for y without a sign."""
    angle = _first_quadrant(y, absolute(x))
    return where(x.bits() < 0, _PI - angle, angle)


def _first_quadrant(y: Lanes, x: Lanes) -> Lanes:
    """The angle of (x, y), from 0 to pi/2, for coordinates without a sign.

    The angle to the nearest of 0, pi/4 and pi/2 is the arctangent of the one quotient t.
    """
    steep = y > x
    low, high = where(steep, x, y), where(steep, y, x)
    middle = low > high * _TAN_EIGHTH_PI
    numerator = where(middle, low - high, low)
    denominator = where(middle, low + high, high)
    # Equal coordinates, infinities too, are at pi/4; but 0/0 is at 0.
    equal = y.equals(x)
    numerator = where(equal, 0.0, numerator)
    denominator = where(equal, 1.0, denominator)
    middle = middle & ~equal | equal & y.differs(0.0)
    t = numerator / denominator
    z = t * t
    angle = fma(polynomial(z, _ATAN) * z, t, t) + where(middle, y.constant(_PI / 4), 0.0)
    return where(steep, _PI / 2 - angle, angle)
