"""Modified Bessel functions of the first kind, in double precision."""

from __future__ import annotations

from collections.abc import Callable

from triton_rvv.lowering.math.exponential import exp_of_double
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

__all__ = ["i0", "i0_of_double", "i1", "i1_of_double"]

# From here on the polynomials in 1/x are used.
_FAR = 8.0
# I0(x) in x^2 / 4, for |x| <= _FAR.
_I0_NEAR = (
    3.464182701540157e-27,
    5.161507524176471e-25,
    1.3388038237987474e-22,
    2.5738700209904554e-20,
    4.3591621313532316e-18,
    6.275997016793641e-16,
    7.594065091424538e-14,
    7.594058047471409e-12,
    6.151187342309801e-10,
    3.9367598886999935e-08,
    1.929012345687353e-06,
    6.944444444443467e-05,
    0.0017361111111111173,
    0.027777777777777776,
    0.25,
    1.0,
    1.0,
)
# 2 I1(x) / x in the same.
_I1_NEAR = (
    1.7418851295812357e-28,
    3.582825497150533e-26,
    8.73120276362945e-24,
    1.8447754208383277e-21,
    3.351845917513965e-19,
    5.2302017368541483e-17,
    6.90367343720292e-15,
    7.594059783995908e-13,
    6.834652503615195e-11,
    4.9209498649145954e-09,
    2.755731922295228e-07,
    1.15740740740945e-05,
    0.0003472222222221971,
    0.006944444444444461,
    0.08333333333333333,
    0.5,
    1.0,
)
# sqrt(x) e^-x I0(x) in 16/x - 1, for x >= _FAR.
_I0_FAR = (
    9.066299326918832e-11,
    3.6293256343958123e-11,
    -6.461268399602417e-10,
    -2.803363535358832e-10,
    2.153828101978659e-09,
    1.1050509288754635e-09,
    -4.514093692773051e-09,
    -3.1346201701686297e-09,
    6.505055534963502e-09,
    7.335961730324821e-09,
    -5.0059140361701806e-09,
    -1.3326090230911521e-08,
    -6.861673121769432e-09,
    7.534354246630383e-09,
    2.156928736946797e-08,
    3.9328894129782554e-08,
    8.871988720299996e-08,
    2.973596046045177e-07,
    1.4838477032970217e-06,
    1.1143033800712502e-05,
    0.00013621607438837384,
    0.0033605519836677504,
    0.4021765094450081,
)
# sqrt(x) e^-x I1(x) in the same.
_I1_FAR = (
    -9.974634210027644e-11,
    -3.365391036718028e-11,
    7.045490623138043e-10,
    2.6340562910407897e-10,
    -2.329273629445225e-09,
    -1.059449897922824e-09,
    4.856847778451737e-09,
    3.0868813052576667e-09,
    -7.025486355801501e-09,
    -7.4444375358553605e-09,
    5.6178366746583015e-09,
    1.3958549240503084e-08,
    6.830709870138156e-09,
    -8.409181569205908e-09,
    -2.3390167895926144e-08,
    -4.3131964968625176e-08,
    -1.000113105166032e-07,
    -3.4838534379961854e-07,
    -1.8349102060615678e-06,
    -1.5038547209501816e-05,
    -0.00021923576383288705,
    -0.009749577193235635,
    0.38939845902587233,
)
# Beyond this both are infinite.
_HIGHEST = 720.0
_HIGHEST_OF_FLOAT = 94.0

_Function = Callable[[Lanes], Lanes]


@in_double
def i0(x: Lanes) -> Lanes:
    """I0(x) for float32. Largest error found: 0.501 ulp."""
    return _i0(_limited(x, _HIGHEST_OF_FLOAT), exp_of_double)


@in_double
def i1(x: Lanes) -> Lanes:
    """I1(x) for float32. Largest error found: 0.501 ulp."""
    return _i1(_limited(x, _HIGHEST_OF_FLOAT), exp_of_double)


def i0_of_double(x: Lanes) -> Lanes:
    """I0(x) for float64, with C's exponential function."""
    return _i0(_limited(x, _HIGHEST), libm_function("exp"))


def i1_of_double(x: Lanes) -> Lanes:
    """I1(x) for float64, with C's exponential function."""
    return _i1(_limited(x, _HIGHEST), libm_function("exp"))


def _limited(x: Lanes, highest: float) -> Lanes:
    """A number that is as good as `x` and not too large to compute with; NaN stays."""
    return where(absolute(x) > highest, copysign(x.constant(highest), x), x)


def _i0(x: Lanes, exponential: _Function) -> Lanes:
    size = absolute(x)
    near = polynomial(x * x * 0.25, _I0_NEAR)
    return where(size > _FAR, _far(size, _I0_FAR, exponential), near)


def _i1(x: Lanes, exponential: _Function) -> Lanes:
    size = absolute(x)
    near = polynomial(x * x * 0.25, _I1_NEAR) * (size * 0.5)
    return copysign(where(size > _FAR, _far(size, _I1_FAR, exponential), near), x)


def _far(size: Lanes, coefficients: tuple[float, ...], exponential: _Function) -> Lanes:
    """e^x / sqrt(x) times the polynomial; e^x is taken as a square, since it overflows first."""
    inside = where(size > _FAR, size, _FAR)
    half = exponential(inside * 0.5)
    series = polynomial(fma(1.0 / inside, 16.0, -1.0), coefficients)
    return half * (series / sqrt(inside)) * half
