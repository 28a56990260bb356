"""Cube roots and their reciprocals."""

from __future__ import annotations

import math

from triton_rvv.lowering.math.lanes import (
    Lanes,
    absolute,
    copysign,
    fma,
    high_product,
    polynomial,
    where,
)

__all__ = ["cbrt", "rcbrt"]

_SMALLEST_NORMAL = 2.0**-126
# A third of a number's bits taken from these are those of its reciprocal cube root, to a tenth.
_OF_ESTIMATE = 0x54A20000
# 2^32 / 3, rounded up.
_THIRD = 0x55555556
# ((1 - e)^(-1/3) - 1) / e by its series.
_SERIES = (14 / 81, 2 / 9, 1 / 3)


def cbrt(x: Lanes) -> Lanes:
    """The cube root for float32. Largest error: 0.81 ulp.

    A step of Newton's method from x / cbrt(x)^2, of whose square nothing is lost.
    """
    size, is_tiny, inverse = _rough_reciprocal(x)
    square = inverse * inverse
    rough = size * square
    above = rough * rough
    below = fma(rough, rough, -above)
    rest = fma(-below, rough, fma(-above, rough, size))
    root = fma(rest, square * (1 / 3), rough)
    root = where(is_tiny, root * 2.0**-8, root)
    return copysign(where(size < math.inf, root, size), x)


def rcbrt(x: Lanes) -> Lanes:
    """1 / cbrt(x) for float32. Largest error: 1.13 ulp."""
    size, is_tiny, inverse = _rough_reciprocal(x)
    rest = fma(-(size * inverse * inverse), inverse, 1.0)
    inverse = fma(inverse * (1 / 3), rest, inverse)
    inverse = where(is_tiny, inverse * 2.0**8, inverse)
    inverse = where(size.equals(0.0), math.inf, where(size.equals(math.inf), 0.0, inverse))
    return copysign(inverse, x)


def _rough_reciprocal(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """|x|, times 2^24 where the second result says so, and its reciprocal cube root to 2^-15."""
    size = absolute(x)
    is_tiny = size < _SMALLEST_NORMAL
    size = where(is_tiny, size * 2.0**24, size)
    third = high_product(size.bits(), size.bits().constant(_THIRD))
    estimate = (_OF_ESTIMATE - third).as_float()
    rest = fma(-(size * estimate * estimate), estimate, 1.0)
    return size, is_tiny, fma(estimate * rest, polynomial(rest, _SERIES), estimate)
