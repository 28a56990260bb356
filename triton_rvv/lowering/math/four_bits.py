"""Floats of four bits, two to a byte: one bit of sign, two of exponent, one of mantissa (e2m1)."""

from __future__ import annotations

from triton_rvv.lowering.math.lanes import Lanes, absolute, where

__all__ = ["four_bits", "halves_of"]

_LARGEST = 7
_ONE_BITS = 0x3F800000  # of float32
_INFINITY_BITS = 0x7F800000
_MAGNITUDE_BITS = 0x7FFFFFFF
_DROPPED = 22  # bits of float32's mantissa
_STEPS_OF_A_HALF, _STEPS_OF_A_HALF_BITS = 2.0**22, 0x4A800000  # float32 has steps of 1/2 there


def four_bits(x: Lanes) -> Lanes:
    """A float32 rounded to the nearest (ties to even), in 32 bits.

    As by NVIDIA's instruction, what is too large becomes the largest, and NaN the positive largest.
    """
    bits = x.bits()
    magnitude = bits & _MAGNITUDE_BITS
    odd = magnitude.shift_in_zeros(_DROPPED) & 1
    rounded = (magnitude + (odd + ((1 << _DROPPED - 1) - 1))).shift_in_zeros(_DROPPED)
    normal = rounded - ((_ONE_BITS >> _DROPPED) - 2)
    tiny = (absolute(x) + _STEPS_OF_A_HALF).bits() - _STEPS_OF_A_HALF_BITS
    code = where(magnitude < _ONE_BITS, tiny, normal)
    code = where(code < _LARGEST, code, _LARGEST)
    sign = bits.shift_in_zeros(28) & 8
    return code | where(magnitude > _INFINITY_BITS, 0, sign)


def halves_of(pair: Lanes) -> Lanes:
    """The two numbers of a byte as half precision, in 32 bits."""
    byte = pair.to("i32", signed=False)
    return _half_of(byte & 15) | _half_of(byte.shift_in_zeros(4)) << 16


def _half_of(code: Lanes) -> Lanes:
    magnitude = code & _LARGEST
    number = where(magnitude < 2, magnitude * 0x3800, (magnitude << 9) + 0x3800)
    return number | (code & 8) << 12
