"""The error function, its complements and the normal distribution."""

from __future__ import annotations

from triton_rvv.lowering.math.estimates import ratio
from triton_rvv.lowering.math.exponential import exp, exp_in_range, exp_of_double
from triton_rvv.lowering.math.lanes import (
    Lanes,
    absolute,
    copysign,
    fma,
    in_double,
    minimum,
    polynomial,
    up_to,
    where,
)
from triton_rvv.lowering.math.libm import libm_function

__all__ = [
    "erf",
    "erfc",
    "erfcx",
    "erfcx_of_double",
    "normcdf",
    "normcdf_of_double",
    "positive_erfcx",
]

# erf(x) / x - 1 in x^2, for |x| <= _NEAR.
_NEAR = 0.927734375
_ERF = (
    -5.9848395176e-4,
    4.9925190397e-3,
    -2.6766616851e-2,
    1.1281833053e-1,
    -3.7612497807e-1,
    1.2837915123e-1,
)
# -ln(1 - erf(x)) / x - 1 for x from _NEAR to 4, from where on erf(x) is 1 in float32.
_MINUS_LOG_ERFC = (
    1.2433205484e-5,
    -3.3454439836e-4,
    3.6890096962e-3,
    -2.3858008906e-2,
    1.0634537786e-1,
    6.3508743048e-1,
    1.2866380811e-1,
)


def erf(x: Lanes) -> Lanes:
    """erf(x) for float32. Largest error: 1.116 ulp.

    A polynomial near zero, and 1 - e^-p(|x|) with a polynomial p elsewhere.
    """
    size = absolute(x)
    near_zero = fma(polynomial(x * x, _ERF, keeps_x=True), size, size)
    limited = up_to(size, 4.0)
    power = fma(polynomial(limited, _MINUS_LOG_ERFC, keeps_x=True), limited, limited)
    away = 1.0 - exp_in_range(-power)
    # NaN is near zero here, and stays.
    return copysign(where(size > _NEAR, away, near_zero), x)


# (1 + 2x) e^(x^2) erfc(x) - 1 in (x - 2) / (x + 2), for x from 0 to where erfc(x) is 0 in float32.
_ERFC = (
    2.7749778383e-05,
    -3.6021298729e-04,
    -1.2503386242e-03,
    1.2695725309e-03,
    8.6340988055e-03,
    -8.0436868593e-03,
    -5.4203376174e-02,
    1.6405312717e-01,
    -1.6603162885e-01,
    -9.2763900757e-02,
    2.7697840333e-01,
)
_ERFC_IS_ZERO = 10.1
# The square root of a half, and what a float leaves of it.
_ROOT_HALF = 0.707106769084930419921875
_ROOT_HALF_REST = 1.2101617e-8


def erfc(x: Lanes) -> Lanes:
    """1 - erf(x) for float32. Largest error: 3.16 ulp."""
    return _upper_tail(x)


def normcdf(x: Lanes) -> Lanes:
    """The normal distribution for float32. Largest error: 3.15 ulp."""
    place = x * -_ROOT_HALF
    rest = fma(x, -_ROOT_HALF_REST, fma(x, -_ROOT_HALF, -place))
    # Of infinity, NaN becomes any number.
    return _upper_tail(place, minimum(rest, 1.0)) * 0.5


def _upper_tail(x: Lanes, rest: Lanes | None = None) -> Lanes:
    """erfc(x + rest), where the rest is what x rounds off.

    Of x^2, what it rounds off counts in e^(-x^2), too.
    """
    size = up_to(absolute(x), _ERFC_IS_ZERO)
    place = ratio(size - 2.0, size + 2.0)
    more = polynomial(place, _ERFC)
    inverse = ratio(size.constant(1.0), fma(size, 2.0, 1.0))
    rough = fma(more, inverse, inverse)
    # 1 + more - (1 + 2 |x|) rough
    lacking = fma(fma(-rough, size, 0.5), 2.0, more - rough)
    scaled = fma(lacking, inverse, rough)
    square = size * size
    off = fma(size, size, -square)
    if rest is not None:
        off = fma(size + size, copysign(rest, rest * x), off)
    tail = scaled * exp(-square)
    tail = fma(-tail, off, tail)
    result = where(x < 0.0, 2.0 - tail, tail)
    return where(x.equals(x), result, x)


# -- in double precision ---------------------------------------------------------------------------

# (1 + 2x) e^(x^2) erfc(x) in (x - 4) / (x + 4), for x >= 0.
_ERFCX = (
    9.281453735430458e-10,
    1.5679974758225509e-09,
    -1.2327971031370957e-08,
    -1.6339501197165208e-08,
    1.062873068387679e-07,
    7.107602523476638e-08,
    -8.210146447474001e-07,
    2.981186585412199e-07,
    5.706527404028434e-06,
    -1.1225191028975224e-05,
    -2.4397697596949648e-05,
    0.00015062314613798074,
    -0.00019925716692451956,
    -0.0007577737245169825,
    0.005031970073092784,
    -0.016197733977500715,
    0.037167515525665495,
    -0.06633036582085174,
    0.09373283499917562,
    -0.10103906603582498,
    0.06809705425466565,
    0.015379652102609111,
    -0.13962111684056225,
    1.2329951186255526,
)
_AT_THE_END = 2.0**60  # where (x - 4) / (x + 4) is 1
_SQRT_HALF = 0.7071067811865476
# Squares of larger numbers are beyond what their exponentials can show in float32 and in float64.
_LARGEST, _LARGEST_OF_DOUBLE = 16.0, 39.0


def positive_erfcx(x: Lanes) -> Lanes:
    """e^(x^2) erfc(x) for float64 that is not negative. Largest error found: 3 ulp."""
    limited = where(x > _AT_THE_END, _AT_THE_END, x)
    reciprocal = 1.0 / (limited + 4.0)
    place = fma(reciprocal, -8.0, 1.0)
    # What the quotient lacks, since a small error in it would grow.
    rest = fma(place, -limited, fma(place + 1.0, -4.0, limited))
    return polynomial(fma(reciprocal, rest, place), _ERFCX) / fma(x, 2.0, 1.0)


@in_double
def erfcx(x: Lanes) -> Lanes:
    """e^(x^2) erfc(x) for float32. Largest error found: 0.501 ulp."""
    return _both_sides(x, positive_erfcx(absolute(x)), _exp_of_square(x))


def erfcx_of_double(x: Lanes) -> Lanes:
    """e^(x^2) erfc(x) for float64, with C's exponential function."""
    return _both_sides(x, positive_erfcx(absolute(x)), _exact_exp_of_square(x, 1.0))


def normcdf_of_double(x: Lanes) -> Lanes:
    """The normal distribution for float64, with C's exponential function."""
    tail = positive_erfcx(absolute(x) * _SQRT_HALF) * _exact_exp_of_square(x, -0.5) * 0.5
    return where(x > 0.0, 1.0 - tail, tail)


def _both_sides(x: Lanes, of_size: Lanes, power: Lanes) -> Lanes:
    """erfcx(x) from erfcx(|x|) and e^(x^2): erfc(x) + erfc(-x) is 2."""
    return where(x < 0.0, power + power - of_size, of_size)


def _exp_of_square(x: Lanes) -> Lanes:
    """e^(x^2) for float64, to 2^-43."""
    size = absolute(x)
    size = where(size > _LARGEST, _LARGEST, size)
    return exp_of_double(size * size)


def _exact_exp_of_square(x: Lanes, factor: float) -> Lanes:
    """e^(x^2 * factor) for float64, the factor being a power of two, with what x^2 rounds off."""
    size = absolute(x)
    size = where(size > _LARGEST_OF_DOUBLE, _LARGEST_OF_DOUBLE, size)
    square = size * size
    rest = fma(size, size, -square)
    power = libm_function("exp")(square * factor)
    return power * fma(rest, factor, 1.0)
