"""Sine, cosine and tangent, right for arguments of any size."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.helpers import call_helper
from triton_rvv.lowering.llvm.values import Val, integer, type_suffix
from triton_rvv.lowering.math.estimates import ratio
from triton_rvv.lowering.math.exponential import DOUBLE_ROUNDER, ROUNDER
from triton_rvv.lowering.math.lanes import (
    Lanes,
    absolute,
    copysign,
    fma,
    high_product,
    in_double,
    looked_up,
    polynomial,
    round_half_even,
    where,
)
from triton_rvv.lowering.math.libm import libm_function

__all__ = ["cos", "cospi", "cospi_of_double", "sin", "sinpi", "sinpi_of_double", "tan"]

# The first 192 bits of 2/pi behind the point.
_TWO_OVER_PI = 0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041
# Its words of 32 bits from every eighth bit on; the upper bits of an exponent choose among them.
_WORDS = tuple(_TWO_OVER_PI >> 312 - 8 * i & 0xFFFFFFFF for i in range(40))
_HALF_PI = 1.5707963267948966
# Its first three parts of 24 bits, and up to where they leave float32 exact.
_HALF_PI_PARTS = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)
_NEAR = 2.0**17
_QUARTER_PI = 0.7853981633974483
# (sin(r) / r - 1) / r^2 and (cos(r) - 1 + r^2 / 2) / r^4 in r^2, for |r| <= pi / 4.
_SIN = (-1.9518790941e-4, 8.3321919665e-3, -1.6666655242e-1)
_COS = (2.4432971259e-5, -1.3887312962e-3, 4.1666645557e-2)
# The same in double precision, with (cos(r) - 1) / r^2.
_SIN_DOUBLE = (
    2.718198699283256e-06,
    -0.00019839320545076152,
    0.008333329329551858,
    -0.16666666640956831,
)
_COS_DOUBLE = (
    -2.7179246191470395e-07,
    2.479902737875447e-05,
    -0.0013888881001815005,
    0.04166666656030934,
    -0.4999999999953158,
)
_SIGN, _SIGN_OF_DOUBLE = 1 << 31, 1 << 63


def sin(x: Lanes) -> Lanes:
    """sin(x) for float32. Largest error: 1.536 ulp."""
    return _sin_and_cos(x, 0)


def cos(x: Lanes) -> Lanes:
    """cos(x) for float32. Largest error: 1.540 ulp."""
    return _sin_and_cos(x, 1)


def tan(x: Lanes) -> Lanes:
    """tan(x) for float32. Largest error: 3.54 ulp."""
    return ratio(sin(x), cos(x))


def _sin_and_cos(x: Lanes, which: int) -> Lanes:
    """One of both, which a kernel often asks for of the same angle.

    What one of them needs alone is left out by LLVM where the other one is not asked for.
    """
    builder, words = x.builder, _two_over_pi(x.builder)
    name = f"sin_and_cos_of_{type_suffix(x.value)}"

    def write() -> Val:
        return call_helper(builder, name, [x.value, words], _write_both, inlined=True)

    both = builder.once(f"{name} {x.value}", write)
    return x.of(builder.emit(x.value.type, f"extractvalue {both}, {which}"))


def _write_both(builder: Builder, operands: Sequence[Val]) -> Val:
    """Both; the long way is left out where no lane is as large as `_NEAR`.

    A smaller one gets the same result in either case. What is beyond the end of a row is reduced,
    too: any number is right there, but LLVM has to choose one (`freeze`).
    """
    x, words = Lanes(builder, operands[0]), operands[1]
    type_ = x.value.type
    results = [builder.alloca(type_, 1) for _ in range(2)]
    is_near = absolute(x) < _NEAR

    def keep(quadrant: Lanes, r: Lanes) -> None:
        for each, result in zip(_both_of_reduced(quadrant, r, x), results, strict=True):
            builder.store(each.value, result, 4)

    def keep_any() -> None:
        near, of_any = _reduced_near(x), _reduced(x, words)
        keep(where(is_near, near[0], of_any[0]), where(is_near, near[1], of_any[1].to("float")))

    are_near = is_near.value
    if are_near.width > 1:
        reduction = f"llvm.vector.reduce.and.{type_suffix(are_near)}"
        are_near = builder.call("i1", reduction, [are_near])
    are_near = builder.emit("i1", f"freeze {are_near}")
    builder.branches(are_near, lambda: keep(*_reduced_near(x)), keep_any, likely=True)
    both = Val(f"{{ {type_}, {type_} }}", "poison")
    for place, result in enumerate(results):
        loaded = builder.load(type_, result, 4)
        both = builder.emit(both.type, f"insertvalue {both}, {loaded}, {place}")
    return both


def _both_of_reduced(quadrant: Lanes, r: Lanes, x: Lanes) -> tuple[Lanes, Lanes]:
    """Sine and cosine of x from its quadrant and its rest as a float."""
    is_even, sine, cosine = (quadrant & 1).equals(0), _sin(r), _cos(r)
    of_sine, of_cosine = where(is_even, sine, cosine), where(is_even, cosine, sine)
    sign = quadrant << 30 & _SIGN ^ x.bits() & _SIGN
    return (
        (of_sine.bits() ^ sign).as_float(),
        (of_cosine.bits() ^ ((quadrant + 1) << 30 & _SIGN)).as_float(),
    )


def _sin(r: Lanes) -> Lanes:
    z = r * r
    return fma(r * z, polynomial(z, _SIN), r)


def _cos(r: Lanes) -> Lanes:
    z = r * r
    return fma(fma(polynomial(z, _COS), z, -0.5), z, 1.0)


def _sin_double(r: Lanes) -> Lanes:
    z = r * r
    return fma(r * z, polynomial(z, _SIN_DOUBLE), r)


def _cos_double(r: Lanes) -> Lanes:
    z = r * r
    return fma(polynomial(z, _COS_DOUBLE), z, 1.0)


def _reduced_near(x: Lanes) -> tuple[Lanes, Lanes]:
    """n (its low two bits are right) and r with |x| = n * pi/2 + r, |r| <= pi/4, for |x| < _NEAR.

    pi/2 is subtracted in three parts (Cody and Waite, "Software Manual for the Elementary
    Functions", 1980). The first multiply-add is exact; the last one changes r where the second one
    leaves less than 2^-8 of it, and r is within an ulp.
    """
    size = absolute(x)
    shifted = fma(size, 1 / _HALF_PI, ROUNDER)
    n = shifted - ROUNDER
    r = size
    for part in _HALF_PI_PARTS:
        r = fma(n, -part, r)
    return shifted.bits(), r


def _two_over_pi(builder: Builder) -> Val:
    """The address of `_WORDS`."""
    return builder.constant_array([integer(word, "i32") for word in _WORDS])


def _reduced(x: Lanes, words: Val) -> tuple[Lanes, Lanes]:
    """n (its low two bits are right) and r as a double with |x| = n * pi/2 + r, |r| <= pi/4.

    r is NaN where x is NaN or infinite; `words` is the address of `_WORDS`. The product of |x| and
    2/pi is formed in fixed point, from those 96 bits of 2/pi whose products are neither whole
    circles nor too small to matter (Payne and Hanek, "Radian reduction for trigonometric
    functions", 1983). Numbers that close to a multiple of pi/2 leave at least 30 good bits of r: no
    float32 comes nearer than 2^-30.
    """
    high, low = _times_two_over_pi(x.bits() & ~_SIGN, words)
    # The two top bits count quarters of a circle. The nearest quarter leaves a signed rest.
    quadrant = (high + (1 << 29)).shift_in_zeros(30)
    rest = (high - (quadrant << 30)).to("double")
    r = fma(rest, 2.0**32, low.to("double", signed=False)) * (_HALF_PI * 2.0**-62)
    size = absolute(x)
    direct, wide = size < _QUARTER_PI, size.to("double")
    # What is subtracted is 0, or NaN for infinity and NaN.
    return where(direct, 0, quadrant), where(direct, wide, r + (wide - wide))


def _times_two_over_pi(bits: Lanes, array: Val) -> tuple[Lanes, Lanes]:
    """Two words of x * 2/pi, modulo 4 and with 62 bits of fraction, from the bits of x."""
    place, shift = bits >> 24 & ~3, bits >> 23 & 7
    significand = (bits & 0x7FFFFF | 0x800000) << shift
    words = [looked_up(array, place + 4 * word, "i32") for word in (8, 4, 0)]
    carried = high_product(significand, words[0])
    low = significand * words[1] + carried
    high = high_product(significand, words[1]) + low.below_unsigned(carried).to("i32", signed=False)
    return high + significand * words[2], low


@in_double
def sinpi(x: Lanes) -> Lanes:
    """sin(pi x) for float32. Largest error found: 0.501 ulp."""
    return _sinpi(x, _sin_double, _cos_double)


@in_double
def cospi(x: Lanes) -> Lanes:
    """cos(pi x) for float32. Largest error found: 0.501 ulp."""
    return _cospi(x, _sin_double, _cos_double)


def sinpi_of_double(x: Lanes) -> Lanes:
    """sin(pi x) for float64, with C's functions for the rest after whole half turns."""
    return _sinpi(x, libm_function("sin"), libm_function("cos"))


def cospi_of_double(x: Lanes) -> Lanes:
    """cos(pi x) for float64, likewise."""
    return _cospi(x, libm_function("sin"), libm_function("cos"))


_Function = Callable[[Lanes], Lanes]


def _sinpi(x: Lanes, sine: _Function, cosine: _Function) -> Lanes:
    quadrant, r = _reduced_half_turns(x)
    result = where((quadrant & 1).equals(0), sine(r), cosine(r))
    result = (result.bits() ^ (quadrant << 62 & _SIGN_OF_DOUBLE)).as_float()
    # At whole numbers it is 0 with the sign of x.
    return where(result.equals(0.0), copysign(result, x), result)


def _cospi(x: Lanes, sine: _Function, cosine: _Function) -> Lanes:
    quadrant, r = _reduced_half_turns(x)
    result = where((quadrant & 1).equals(0), cosine(r), sine(r))
    # 0 has no sign; adding it takes one away.
    return (result.bits() ^ ((quadrant + 1) << 62 & _SIGN_OF_DOUBLE)).as_float() + 0.0


def _reduced_half_turns(x: Lanes) -> tuple[Lanes, Lanes]:
    """n and r with pi x = n * pi/2 + r, up to whole circles, and |r| <= pi / 4."""
    turn = x - round_half_even(x * 0.5) * 2.0
    shifted = turn * 2.0 + DOUBLE_ROUNDER
    return shifted.bits(), fma(shifted - DOUBLE_ROUNDER, -0.5, turn) * math.pi
