"""Angles from their sines, cosines and tangents."""

from __future__ import annotations

from triton_rvv.lowering.math.estimates import ratio, square_root
from triton_rvv.lowering.math.lanes import Lanes, absolute, call, copysign, fma, polynomial, where

__all__ = ["acos", "asin", "atan", "atan2"]

# pi and pi/2 as floats, and what they leave.
_PI, _PI_REST = 3.1415927410125732, -8.742278000372485e-08
_HALF_PI, _HALF_PI_REST = _PI / 2, _PI_REST / 2
# (atan(t) / t - 1) / t^2 in t^2, for |t| <= 1.
_ATAN = (
    -1.7704167403e-3,
    1.080822479e-2,
    -3.0974017456e-2,
    5.7746186852e-2,
    -8.3906106651e-2,
    1.0947579145e-1,
    -1.4263308048e-1,
    1.9998453557e-1,
    -3.3333295584e-1,
)


def atan(x: Lanes) -> Lanes:
    """atan(x) for float32. Largest error: 1.273 ulp."""
    return copysign(_first_quadrant(absolute(x), x.constant(1.0)), x)


def atan2(y: Lanes, x: Lanes) -> Lanes:
    """The angle of the point (x, y) for float32. Largest error found: 1.5 ulp."""
    return copysign(_upper_half(absolute(y), x), y)


def asin(x: Lanes) -> Lanes:
    """asin(x) for float32. Largest error: 2.38 ulp."""
    return copysign(_first_quadrant(absolute(x), _other_side(x)), x)


def acos(x: Lanes) -> Lanes:
    """acos(x) for float32. Largest error: 1.90 ulp."""
    return _upper_half(_other_side(x), x)


def _other_side(x: Lanes) -> Lanes:
    """The cosine of an angle from its sine, or the sine from the cosine, if it is not negative."""
    return square_root((1.0 - x) * (x + 1.0))


def _upper_half(y: Lanes, x: Lanes) -> Lanes:
    """The angle of (x, y), from 0 to pi, for y without a sign."""
    angle = _first_quadrant(y, absolute(x))
    return where(x.bits() < 0, _PI - (angle - _PI_REST), angle)


def _first_quadrant(y: Lanes, x: Lanes) -> Lanes:
    """The angle of (x, y), from 0 to pi/2, for coordinates without a sign.

    Of the octants, the lower one has the arctangent of a quotient up to 1. That is 1 where both are
    infinite, too, and 0 where both are 0: the smallest float takes the place of a divisor of 0.
    """
    steep = y > x
    low, high = where(steep, x, y), where(steep, y, x)
    high = call("llvm.umax", high.bits(), high.bits().constant(1)).as_float()
    t = where(low.equals(high), 1.0, ratio(low, high))
    z = t * t
    angle = fma(polynomial(z, _ATAN, keeps_x=True) * z, t, t)
    return where(steep, _HALF_PI - (angle - _HALF_PI_REST), angle)
