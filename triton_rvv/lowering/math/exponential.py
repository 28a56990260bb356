"""Powers of e, 2 and 10."""

from __future__ import annotations

from triton_rvv.lowering.llvm.register_groups import fits_group, product, scaled_and_added
from triton_rvv.lowering.llvm.values import TRUE, integer, type_suffix
from triton_rvv.lowering.math.lanes import (
    SCALED_LANES,
    Lanes,
    call,
    copysign,
    fma,
    maximum,
    minimum,
    polynomial,
    scaled_by_powers,
    where,
)

__all__ = [
    "DOUBLE_ROUNDER",
    "ROUNDER",
    "bounded_exp",
    "bounded_exp2",
    "exp",
    "exp2",
    "exp2_of_sum",
    "exp10",
    "exp_in_range",
    "exp_of_double",
    "expm1",
    "halves_of_power",
    "less_whole_powers",
    "power_of_two",
]

_LOG2_E = 1.4426950408889634
# ln 2 as a float, and the rest.
_LN2 = 0.693147182464599609375
_LN2_REST = -1.904654290582768e-9
# The same of the decimal logarithm of 2.
_LOG2_10, _LN10 = 3.321928094887362, 2.302585092994046
_LG2 = 0.3010300099849700927734375
_LG2_REST = -1.4320989e-8
# (e^r - 1 - r) / r^2 on |r| <= ln(2) / 2.
_EXP = (1.3935758034e-3, 8.3690891042e-3, 4.1666455567e-2, 1.6666516662e-1, 0.5)
# (2^r - 1) / r on |r| <= 1/2.
_EXP2 = (
    1.5456357505e-4,
    1.3391643297e-3,
    9.6180774271e-3,
    5.5503580719e-2,
    2.4022650719e-1,
    6.9314718246e-1,
)
# Adding 1.5 * 2^23 to a float, or 1.5 * 2^52 to a double, leaves the nearest integer in the low
# bits of the significand.
ROUNDER = 1.5 * 2**23
# The same for a number n that becomes the exponents of two factors, of which the second is one
# power of two larger. Beyond the limits, the result is infinite or 0.
_SCALE_ROUNDER = ROUNDER + 126
_LARGEST_SHIFTED = _SCALE_ROUNDER + 128
_SMALLEST_SHIFTED = _SCALE_ROUNDER - 151
# The same where n is not large: it is added to the exponent with so much more, which a factor takes
# back.
_BOUNDED_SHIFT = 64
_BOUNDED_ROUNDER = ROUNDER + _BOUNDED_SHIFT
# The same for n that becomes the exponent of a quarter of 2^n.
_QUARTER_ROUNDER = ROUNDER + 125
DOUBLE_ROUNDER = 1.5 * 2**52
_ARITHMETIC = ("fadd", "fsub", "fmul")


def exp(x: Lanes) -> Lanes:
    """e^x for float32. Largest error: 0.910 ulp.

    x = n ln 2 + r, with two constants for ln 2 (Cody and Waite, "Software Manual for the
    Elementary Functions", 1980); e^r is a polynomial.
    """
    if (plain := _with_plain_nan(x)) is not None:
        x = _unsigned_minimum(plain, -104.0)
        shifted = minimum(x * _LOG2_E + _SCALE_ROUNDER, _LARGEST_SHIFTED)
        n = shifted - _SCALE_ROUNDER
        return _defined(_scaled(_exp_of_rest(x, n), shifted, n), x)
    if x.builder.abilities.has_one_nan:
        shifted = _limited(x * _LOG2_E + _SCALE_ROUNDER)
    else:
        # Below this the result is 0. The comparison is false for NaN, which stays.
        x = where(x < -104.0, -104.0, x)
        shifted = minimum(fma(x, _LOG2_E, _SCALE_ROUNDER), _LARGEST_SHIFTED)
    # Infinity where x is so far above n ln 2 that e^x is. Below, 2^n is as good as 0.
    n = shifted - _SCALE_ROUNDER
    return _defined(_scaled(_exp_of_rest(x, n, limited=True), shifted, n), x)


def bounded_exp(x: Lanes) -> Lanes:
    """e^x where x is no more than `bounded_powers.LIMIT`; the same as `exp` gives."""
    if (plain := _with_plain_nan(x)) is None:
        return exp(x)
    x = _unsigned_minimum(plain, -104.0)
    shifted = x * _LOG2_E + _BOUNDED_ROUNDER
    power = _exp_of_rest(x, shifted - _BOUNDED_ROUNDER)
    return _defined(_scaled_down(power, shifted), x)


def _scaled_down(power: Lanes, shifted: Lanes) -> Lanes:
    """A number near 1 times 2^n, or NaN; n + _BOUNDED_SHIFT is in the low bits of `shifted`."""
    return _with_exponent(power, shifted) * 2.0**-_BOUNDED_SHIFT


def _with_exponent(power: Lanes, shifted: Lanes) -> Lanes:
    """A number times 2^n where that is normal, with n in the low bits of `shifted`.

    NaN stays where `shifted` is one too, whose low bits are 0.
    """
    bits, n = power.bits(), shifted.bits()
    if not fits_group(power.builder, bits.value):
        return (bits + (n << 23)).as_float()
    return power.of(scaled_and_added(power.builder, bits.value, n.value, 1 << 23)).as_float()


def _limited(shifted: Lanes) -> Lanes:
    """What gives a result other than 0 and infinity, or one step beyond."""
    return minimum(maximum(shifted, _SMALLEST_SHIFTED), _LARGEST_SHIFTED)


def _no_less_than_minus_one(x: Lanes) -> Lanes:
    """The larger of a number and -1, where that is cheap; NaN stays."""
    return _unsigned_minimum(x, -1.0) if x.builder.abilities.has_one_nan else x


def _unsigned_minimum(x: Lanes, limit: float) -> Lanes:
    """The larger of a number and a negative limit; NaN without a sign stays.

    Without a sign, the representations of negative floats grow away from zero.
    """
    return call("llvm.umin", x.bits(), x.constant(limit).bits()).as_float()


def _with_plain_nan(x: Lanes) -> Lanes | None:
    """The same by an instruction whose NaN has no sign or payload, where one computes it.

    It is written so that LLVM does not fold it into an operand or its negative, as it does a
    difference from 0 and a product with 1 or -1.
    """
    builder, value = x.builder, x.value
    name, operands = builder.definition(value)
    if not builder.abilities.has_one_nan or value.width == 1 or name not in _ARITHMETIC:
        return None
    everywhere, count = builder.splat(TRUE, value.width), integer(value.width, "i32")
    function = f"llvm.vp.{name}.{type_suffix(value)}"
    return x.of(builder.call(value.type, function, [*operands, everywhere, count]))


def exp_in_range(x: Lanes) -> Lanes:
    """e^x for float32 where the result is a normal number: |x| <= 87."""
    has_one_nan = x.builder.abilities.has_one_nan
    shifted = x * _LOG2_E + ROUNDER if has_one_nan else fma(x, _LOG2_E, ROUNDER)
    return _defined(_with_exponent(_exp_of_rest(x, shifted - ROUNDER), shifted), x)


def _exp_of_rest(x: Lanes, n: Lanes, limited: bool = False) -> Lanes:
    """e^(x - n ln 2), for n so near x / ln 2 that the difference is up to half of ln 2.

    x - n _LN2 is exact there, since both are multiples of 2^-25. The highest term of the polynomial
    takes it as it is, so that no instruction overwrites what another one needs.

    Args:
        limited: whether x may be far below n ln 2, where anything but NaN will do.
    """
    rough = fma(n, -_LN2, x)
    if limited:
        rough = _no_less_than_minus_one(rough)
    r = fma(n, -_LN2_REST, rough)
    total = fma(rough, _EXP[0], _EXP[1])
    for coefficient in (*_EXP[2:], 1.0, 1.0):
        total = fma(total, r, coefficient)
    return total


def expm1(x: Lanes) -> Lanes:
    """e^x - 1 for float32. Largest error: 1.515 ulp.

    With x = n ln 2 + r, 2^n (e^r - 1) + (2^n - 1), of which half overflows nowhere.
    """
    limited = where(x < -20.0, -20.0, x)
    shifted = minimum(fma(limited, _LOG2_E, _SCALE_ROUNDER), _LARGEST_SHIFTED)
    n = shifted - _SCALE_ROUNDER
    r = fma(n, -_LN2_REST, fma(n, -_LN2, limited))
    less_one = fma(polynomial(r, _EXP) * r, r, r)
    half = _in_exponent_field(shifted.bits()).as_float()
    return copysign(fma(less_one, half, half - 0.5) * 2.0, x)


def less_whole_powers(size: Lanes) -> tuple[Lanes, Lanes]:
    """n with a bias in the low bits of a float, and r, with size = n ln 2 + r, |r| <= ln(2) / 2.

    Of numbers above 90, r is what is left of 129 ln 2. They are not negative.
    """
    product = fma(size, _LOG2_E, _QUARTER_ROUNDER)
    shifted = minimum(product, _QUARTER_ROUNDER + 129)
    n = shifted - _QUARTER_ROUNDER
    return shifted, fma(n, -_LN2_REST, fma(n, -_LN2, size))


def halves_of_power(shifted: Lanes) -> tuple[Lanes, Lanes]:
    """2^(n-2), and 2^(-n-2) where that is normal, else 0, from the n that that function found."""
    up = _in_exponent_field(shifted.bits())
    down = call("llvm.smax", (250 << 23) - up, up.constant(0))
    return up.as_float(), down.as_float()


def exp10(x: Lanes) -> Lanes:
    """10^x for float32. Largest error: 1.25 ulp.

    As e^x, with x = n lg 2 + r. What the first two multiply-adds leave is exact.
    """
    shifted = _limited(fma(x, _LOG2_10, _SCALE_ROUNDER))
    n = shifted - _SCALE_ROUNDER
    rough = fma(n, -_LG2, x)
    # Far beyond the limits, where anything but NaN will do.
    rough = where(rough < -1.0, -1.0, rough)
    r = fma(n, -_LG2_REST, rough) * _LN10
    return _scaled(fma(polynomial(r, _EXP, keeps_x=True) * r, r, r) + 1.0, shifted, n)


def power_of_two(n: Lanes) -> Lanes:
    """2^n for float32, for whole numbers n from -126 to 127."""
    return _in_exponent_field((n + (ROUNDER + 127)).bits()).as_float()


def exp2(x: Lanes) -> Lanes:
    """2^x for float32. Largest error: 0.879 ulp."""
    if x.builder.abilities.has_one_nan:
        shifted = _limited(x + _SCALE_ROUNDER)
    else:
        x = where(x < -151.0, -151.0, x)
        shifted = minimum(x + _SCALE_ROUNDER, _LARGEST_SHIFTED)
    n = shifted - _SCALE_ROUNDER
    r = _no_less_than_minus_one(x - n)
    return _defined(_scaled(fma(polynomial(r, _EXP2, keeps_x=True), r, 1.0), shifted, n), x)


def exp2_of_sum(x: Lanes, rest: Lanes) -> Lanes:
    """2^(x + rest) for float32, where the rest is what x rounds off."""
    shifted = _limited(x + _SCALE_ROUNDER)
    n = shifted - _SCALE_ROUNDER
    # Infinity is as good as any large number, and NaN, which stays in the rest, as any.
    r = minimum(maximum(x - n, -1.0), 2.0**20) + rest
    return _scaled(fma(polynomial(r, _EXP2, keeps_x=True), r, 1.0), shifted, n)


def bounded_exp2(x: Lanes) -> Lanes:
    """2^x where x is no more than `bounded_powers.LIMIT`; the same as `exp2` gives."""
    if (plain := _with_plain_nan(x)) is None:
        return exp2(x)
    x = _unsigned_minimum(plain, -151.0)
    shifted = x + _BOUNDED_ROUNDER
    r = x - (shifted - _BOUNDED_ROUNDER)
    return _defined(_scaled_down(fma(polynomial(r, _EXP2, keeps_x=True), r, 1.0), shifted), x)


def _defined(power: Lanes, x: Lanes) -> Lanes:
    """A power that the builder knows as one."""
    power.builder.define(power.value, "exp", [x.value])
    return power


def _scaled(x: Lanes, shifted: Lanes, n: Lanes) -> Lanes:
    """x * 2^n, where n plus a bias is in the low bits of `shifted` too.

    Without an instruction it takes two factors, of which the first neither overflows nor rounds
    where x is near 1: half of 2^n, but a normal number, and 2 or less.
    """
    if x.builder.abilities.scales_floats and x.value.width % SCALED_LANES == 0:
        return scaled_by_powers(x, n)
    exponent = _in_exponent_field(shifted.bits())
    first = call("llvm.smax", exponent, exponent.constant(2 << 23))
    rest = exponent - first + (128 << 23)
    return x * first.as_float() * rest.as_float()


def _in_exponent_field(bits: Lanes) -> Lanes:
    """The low bits of integers of 32 bits as exponents of floats."""
    if not fits_group(bits.builder, bits.value):
        return bits << 23
    return bits.of(product(bits.builder, bits.value, 1 << 23))


# -- in double precision ---------------------------------------------------------------------------

# (2^r - 1) / r on |r| <= 1/2, to 2^-44.
_EXP2_DOUBLE = (
    1.0205917041323246e-07,
    1.3255225848167234e-06,
    1.525267285976742e-05,
    0.00015403455848228271,
    0.0013333558200915826,
    0.009618129159407804,
    0.05550410866465084,
    0.24022650695812972,
    0.6931471805599462,
)
# log2(e) as two doubles, so that products with it are good to 2^-60.
_LOG2_E_PARTS = (1.4426950408889634, 2.0355273740931033e-17)


def exp_of_double(x: Lanes) -> Lanes:
    """e^x for float64 where float32 has a result other than 0 and infinity, to 2^-43."""
    shifted = fma(x, _LOG2_E_PARTS[0], DOUBLE_ROUNDER)
    n = shifted - DOUBLE_ROUNDER
    r = fma(x, _LOG2_E_PARTS[1], fma(x, _LOG2_E_PARTS[0], -n))
    power = fma(polynomial(r, _EXP2_DOUBLE), r, 1.0)
    return (power.bits() + (shifted.bits() << 52)).as_float()
