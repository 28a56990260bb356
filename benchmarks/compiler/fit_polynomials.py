"""Fits the polynomials of triton_rvv.lowering.math:
python benchmarks/compiler/fit_polynomials.py [NAME ...]

It prints the coefficients with the highest power first, the remaining error in the function's
result, and whether the code differs. If it does, the exit status is 1.

They are least-squares fits at Chebyshev points, weighted so that the error is relative to the
function's result. Coefficients are rounded one by one from the lowest power, and the others are
fitted again, so that later ones compensate for the rounding.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mpmath import mp, mpf

from foundation.command_line import run_script

__all__ = ["FITS", "Fit", "coefficients"]

Function = Callable[[mpf], mpf]

DIGITS = 40
POINTS_PER_COEFFICIENT = 6


@dataclass(frozen=True)
class Fit:
    """The requirements on a polynomial.

    Args:
        function: what it approximates.
        lowest, highest: the range.
        count: number of coefficients.
        weight: the weight of an error at a point.
        is_double: whether coefficients are float64 instead of float32.
    """

    function: Function
    lowest: float
    highest: float
    count: int
    weight: Function = lambda x: mpf(1)
    is_double: bool = False


def _of_root(function: Function) -> Function:
    return lambda z: function(mp.sqrt(z))


def _besseli_far(order: int) -> Function:
    """sqrt(x) e^-x I(x) of the modified Bessel function of an order, in 16/x - 1."""

    def scaled(place: mpf) -> mpf:
        x = 16 / (1 + place)
        return mp.besseli(order, x) * mp.exp(-x) * mp.sqrt(x)

    return scaled


def _erfcx(q: mpf) -> mpf:
    """(1 + 2x) e^(x^2) erfc(x) as a function of (x - 4) / (x + 4)."""
    x = 4 * (1 + q) / (1 - q)
    return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


def _erfc_place(x: float) -> mpf:
    return (mpf(x) - 2) / (mpf(x) + 2)


def _erfcx_less_one(q: mpf) -> mpf:
    """(1 + 2x) e^(x^2) erfc(x) - 1 as a function of (x - 2) / (x + 2)."""
    x = 2 * (1 + q) / (1 - q)
    return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x) - 1


def _erfcinv(w: mpf) -> mpf:
    """The y with erfc(y) (2 - erfc(y)) = e^-w."""
    z = mp.exp(-w) / (1 + mp.sqrt(-mp.expm1(-w)))
    if z > 0.5:
        return mp.erfinv(1 - z)
    guess = mp.sqrt(-mp.log(z * mp.sqrt(mp.pi * -mp.log(z))))
    return mp.findroot(lambda y: mp.log(mp.erfc(y)) - mp.log(z), guess)


def _relative(function: Function, *range_and_count: Any) -> Fit:
    """A polynomial in double precision, close to the function in parts of it."""
    cached = functools.cache(function)
    lowest, highest, count = range_and_count
    return Fit(cached, mpf(lowest), mpf(highest), count, lambda x: 1 / cached(x), is_double=True)


def _inverse_error_fits() -> dict[str, Fit]:
    def over_root(reciprocal: mpf) -> mpf:
        return _erfcinv(1 / reciprocal**2) * reciprocal

    def over_argument(w: mpf) -> mpf:
        return _erfcinv(w) / mp.sqrt(-mp.expm1(-w))

    return {
        "inverse_error._CENTRE": _relative(over_argument, 1e-12, 6.25, 16),
        "inverse_error._TAIL_NEAR": _relative(over_root, 1 / mpf(4.75), 0.4, 12),
        "inverse_error._TAIL_MIDDLE": _relative(over_root, 1 / mpf(10.5), 1 / mpf(4.75), 11),
        "inverse_error._TAIL_FAR": _relative(over_root, 1 / mpf(27.5), 1 / mpf(10.5), 9),
    }


def _fits() -> dict[str, Fit]:
    half_ln2, quarter = mp.log(2) / 2, (mp.pi / 4) ** 2
    low, high, log2_e = mp.sqrt(0.5) - 1 - mpf(1e-7), mp.sqrt(2) - 1 + mpf(1e-7), 1 / mp.log(2)
    steps = mpf(1e-12)  # ranges in x^2 start just above 0

    def odd(function: Function) -> Function:
        """(f(x) / x - 1) / x^2 as a function of x^2."""
        return _of_root(lambda x: (function(x) / x - 1) / x**2)

    return {
        "exponential._EXP": Fit(
            lambda r: (mp.exp(r) - 1 - r) / r**2, -half_ln2, half_ln2, 5, lambda r: r**2
        ),
        "exponential._EXP2": Fit(lambda r: (mpf(2) ** r - 1) / r, -0.5, 0.5, 6, abs),
        "exponential._EXP2_DOUBLE": Fit(
            lambda r: (mpf(2) ** r - 1) / r, -0.5, 0.5, 9, is_double=True
        ),
        "logarithm._LOG": Fit(
            lambda f: (mp.log1p(f) - f + f * f / 2) / f**3,
            *(low, high, 8),
            lambda f: f**3 / mp.log1p(f),
        ),
        "logarithm._LOG2": Fit(
            lambda f: (mp.log1p(f) / f - 1) / f * log2_e,
            *(low, high, 9),
            lambda f: f**2 / mp.log1p(f) / log2_e,
        ),
        "logarithm._ATANH": Fit(odd(mp.atanh), steps, 0.04, 6, lambda z: z, is_double=True),
        "power._ATANH": Fit(odd(mp.atanh), mpf(1e-9), mpf(0.1716) ** 2, 4, lambda z: z),
        "trigonometric._SIN": Fit(odd(mp.sin), mpf(1e-9), quarter, 3, lambda z: z),
        "trigonometric._COS": Fit(
            _of_root(lambda r: (mp.cos(r) - 1 + r**2 / 2) / r**4),
            *(mpf(1e-7), quarter, 3),
            lambda z: z**2,
        ),
        "trigonometric._SIN_DOUBLE": Fit(
            odd(mp.sin), steps, quarter, 4, lambda z: z, is_double=True
        ),
        "trigonometric._COS_DOUBLE": Fit(
            _of_root(lambda r: (mp.cos(r) - 1) / r**2),
            *(steps, quarter, 5),
            lambda z: z,
            is_double=True,
        ),
        "inverse_trigonometric._ATAN": Fit(odd(mp.atan), mpf(1e-9), 1, 9, lambda z: z),
        "hyperbolic._TANH": Fit(odd(mp.tanh), mpf(1e-9), 0.36, 5, lambda z: z),
        "hyperbolic._SINH": Fit(odd(mp.sinh), mpf(1e-9), half_ln2**2, 3, lambda z: z),
        "hyperbolic._COSH": Fit(
            _of_root(lambda r: (mp.cosh(r) - 1) / r**2), mpf(1e-9), half_ln2**2, 3, lambda z: z
        ),
        "error_function._ERF": Fit(
            _of_root(lambda x: mp.erf(x) / x - 1), mpf(1e-9), mpf(475 / 512) ** 2, 6
        ),
        "error_function._MINUS_LOG_ERFC": Fit(
            lambda x: -mp.log(mp.erfc(x)) / x - 1,
            *(475 / 512, 4.0, 7),
            lambda x: x * mp.erfc(x),
        ),
        "error_function._ERFCX": _relative(_erfcx, -1, 1, 24),
        "error_function._ERFC": Fit(_erfcx_less_one, -1, _erfc_place(10.1), 11),
        "bessel._I0_NEAR": _relative(lambda z: mp.besseli(0, 2 * mp.sqrt(z)), 0, 16, 17),
        "bessel._I1_NEAR": _relative(
            lambda z: mp.besseli(1, 2 * mp.sqrt(z)) / mp.sqrt(z), steps, 16, 17
        ),
        "bessel._I0_FAR": _relative(_besseli_far(0), -1, 1, 23),
        "bessel._I1_FAR": _relative(_besseli_far(1), -1, 1, 23),
        **_inverse_error_fits(),
    }


mp.dps = DIGITS
FITS = _fits()


def coefficients(fit: Fit) -> list[float]:
    """The coefficients, highest power first."""
    count = POINTS_PER_COEFFICIENT * fit.count
    middle, half = (mpf(fit.highest) + fit.lowest) / 2, (mpf(fit.highest) - fit.lowest) / 2
    points = [middle + half * mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    weights = [fit.weight(x) for x in points]
    rest = [fit.function(x) for x in points]
    found: list[float] = []
    for power in range(fit.count):
        matrix = mp.matrix(count, fit.count - power)
        for row, (x, weight) in enumerate(zip(points, weights, strict=True)):
            for column in range(fit.count - power):
                matrix[row, column] = weight * x ** (power + column)
        right = mp.matrix([w * value for w, value in zip(weights, rest, strict=True)])
        found.append(_rounded(mp.lu_solve(matrix, right)[0], fit.is_double))
        rest = [value - found[-1] * x**power for x, value in zip(points, rest, strict=True)]
    return found[::-1]


def _rounded(value: mpf, is_double: bool) -> float:
    number = float(value)
    return number if is_double else struct.unpack("<f", struct.pack("<f", number))[0]


def remaining_error(fit: Fit, polynomial: list[float]) -> float:
    """The largest weighted error, as a power of two."""
    errors = []
    for i in range(400):
        x = fit.lowest + (mpf(fit.highest) - fit.lowest) * (i + mpf(0.5)) / 400
        errors.append(abs(fit.weight(x) * (fit.function(x) - mp.polyval(polynomial, x))))
    return float(mp.log(max(errors), 2))


def in_the_code(name: str, fit: Fit) -> list[float]:
    """The coefficients in the code, rounded as it uses them."""
    module, _, variable = name.partition(".")
    numbers = getattr(importlib.import_module(f"triton_rvv.lowering.math.{module}"), variable)
    return [_rounded(mpf(number), fit.is_double) for number in numbers]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="such as bessel._I0_FAR; all")
    status = 0
    for name in parser.parse_args().names or FITS:
        fit = FITS[name]
        polynomial = coefficients(fit)
        print(f"{name}, to 2^{remaining_error(fit, polynomial):.1f}:")
        for coefficient in polynomial:
            print(f"    {coefficient!r}," if fit.is_double else f"    {coefficient:.10e},")
        if polynomial != in_the_code(name, fit):
            print("    but the code has different ones")
            status = 1
    return status


if __name__ == "__main__":
    run_script(main)
