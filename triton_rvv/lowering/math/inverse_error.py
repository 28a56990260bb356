"""The inverses of the error function, of its complement and of the normal distribution."""

from __future__ import annotations

import math
from collections.abc import Callable

from triton_rvv.lowering.math.error_function import positive_erfcx
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
from triton_rvv.lowering.math.libm import libm_function
from triton_rvv.lowering.math.logarithm import log_of_double

__all__ = [
    "erfcinv",
    "erfcinv_of_double",
    "erfinv",
    "erfinv_of_double",
    "normcdfinv",
    "normcdfinv_of_double",
]

# With w = -ln(1 - x^2) for x = erf(y) (Giles, "Approximating the erfinv function", 2010):
# y / x in w, for w <= _CENTRE_ENDS.
_CENTRE_ENDS = 6.25
_CENTRE = (
    -3.30059212508516e-14,
    1.6235298560488458e-12,
    -3.4689512579151606e-11,
    4.0978534752387046e-10,
    -2.7345786965444165e-09,
    8.271089943506207e-09,
    5.516153435038032e-09,
    -1.1133625302932688e-08,
    -1.0356910786748552e-06,
    2.025490582367818e-06,
    4.662321707912341e-05,
    -0.0001280575388682126,
    -0.002335094699891853,
    0.011549340503438697,
    0.23201366665864864,
    0.8862269254511796,
)
# y / sqrt(w) in 1 / sqrt(w), from there on, for sqrt(w) up to _NEAR_ENDS, _MIDDLE_ENDS, and 27.5,
# beyond which float64 has no numbers.
_NEAR_ENDS, _MIDDLE_ENDS = 4.75, 10.5
_TAIL_NEAR = (
    2995.9441944621717,
    -10991.795322364522,
    18005.659900449224,
    -17378.995457461384,
    10987.811178703645,
    -4785.8723271829585,
    1469.7534804946945,
    -320.54073033743043,
    49.96425948846673,
    -5.595534170982267,
    0.22417987872215098,
    0.9937840287588557,
)
_TAIL_MIDDLE = (
    -5953.622795474502,
    10358.508200440534,
    -8220.085543930998,
    3946.979481283724,
    -1285.4304057961638,
    303.3805455893719,
    -55.48223552468205,
    9.191598357769909,
    -1.5173285335965159,
    -0.015930291102888294,
    1.0001132176062284,
)
_TAIL_FAR = (
    -47122.127661765975,
    29532.528810362423,
    -8327.089045055267,
    1411.7302962688427,
    -165.89988364390797,
    16.371805333545815,
    -1.8166324145142518,
    -0.008585967017850192,
    1.000031769635562,
)
_HALF_SQRT_PI = 0.8862269254527580
_SQRT_2 = 1.4142135623730951

_Function = Callable[[Lanes, Lanes], Lanes]


@in_double
def erfinv(x: Lanes) -> Lanes:
    """The y with erf(y) = x for float32. Largest error found: 0.501 ulp."""
    return _signed(_approximation, x, 1.0 - absolute(x))


@in_double
def erfcinv(z: Lanes) -> Lanes:
    """The y with erfc(y) = z for float32. Largest error found: 0.501 ulp."""
    return _signed(_approximation, 1.0 - z, _smaller_tail(z))


@in_double
def normcdfinv(p: Lanes) -> Lanes:
    """The inverse of the normal distribution for float32. Largest error found: 0.501 ulp."""
    return _signed(_approximation, p + p - 1.0, _smaller_tail(p + p)) * _SQRT_2


def erfinv_of_double(x: Lanes) -> Lanes:
    """The y with erf(y) = x for float64, with C's functions."""
    return _signed(_improved, x, 1.0 - absolute(x))


def erfcinv_of_double(z: Lanes) -> Lanes:
    """The y with erfc(y) = z for float64, with C's functions."""
    return _signed(_improved, 1.0 - z, _smaller_tail(z))


def normcdfinv_of_double(p: Lanes) -> Lanes:
    """The inverse of the normal distribution for float64, with C's functions."""
    return _signed(_improved, p + p - 1.0, _smaller_tail(p + p)) * _SQRT_2


def _smaller_tail(z: Lanes) -> Lanes:
    """erfc(|y|) for z = erfc(y)."""
    return where(z > 1.0, 2.0 - z, z)


def _signed(function: _Function, x: Lanes, z: Lanes) -> Lanes:
    """The y with erf(y) = x, by a function of |x| and of z = 1 - |x|, which are both exact."""
    limit = where(z.equals(0.0), z.constant(math.inf), math.nan)
    return copysign(where(z > 0.0, function(absolute(x), z), limit), x)


def _approximation(x: Lanes, z: Lanes) -> Lanes:
    """The y with erf(y) = x and erfc(y) = z, to 2^-36, where z is more than 2^-150."""
    return _from_logarithm(x, -log_of_double(z * (2.0 - z)))


def _from_logarithm(x: Lanes, w: Lanes) -> Lanes:
    root = sqrt(w)
    place = 1.0 / root
    tail = where(root > _MIDDLE_ENDS, polynomial(place, _TAIL_FAR), polynomial(place, _TAIL_MIDDLE))
    tail = where(root > _NEAR_ENDS, tail, polynomial(place, _TAIL_NEAR))
    return where(w > _CENTRE_ENDS, tail * root, polynomial(w, _CENTRE) * x)


def _improved(x: Lanes, z: Lanes) -> Lanes:
    """As `_approximation` for every z, with a step of Newton's method.

    Where z is small, both sides of erfc(y) = z are multiplied by e^(y^2), which takes two factors.
    """
    y = _from_logarithm(x, -libm_function("log")(z * (2.0 - z)))
    square = y * y * 0.5
    power = libm_function("exp")(square)
    power = fma(power, fma(y * 0.5, y, -square), power)
    of_tail = positive_erfcx(y) - z * power * power
    of_centre = (x - libm_function("erf")(y)) * power * power
    return fma(where(z < 0.5, of_tail, of_centre), _HALF_SQRT_PI, y)
