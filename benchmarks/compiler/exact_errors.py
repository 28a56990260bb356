"""Largest errors of mathematical functions at random arguments, against mpmath.

python benchmarks/compiler/exact_errors.py [NAME ...] [--count 4000]

These are the functions of float64 that C does not have, and those of both types that call C's
library for each element; it is the library of this machine. `ulp_errors.py` tries the
vector code for float32 on far more arguments.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from mpmath import mp, mpf
from ulp_errors import WIDTH, compiled

from foundation.command_line import run_script
from triton_rvv.lowering.math.libdevice import FUNCTIONS
from triton_rvv.lowering.math.libm import by_lanes

__all__ = ["CASES", "Case", "largest_error"]

DIGITS = 50
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Case:
    """A function and where its arguments are.

    Args:
        exact: its value.
        lowest, highest: between these, evenly.
        smallest: magnitudes from this power of two up to `highest` too; nothing for None.
        types: which of them call C's library or are written for float64.
    """

    exact: Callable[[mpf], mpf]
    lowest: float
    highest: float
    smallest: int | None = None
    types: tuple[str, ...] = ("double",)


def _erfcinv(z: mpf) -> mpf:
    if z > 1:
        return -_erfcinv(2 - z)
    if z > 0.5:
        return mp.erfinv(1 - z)
    guess = mp.sqrt(-mp.log(z * mp.sqrt(mp.pi * -mp.log(z))))
    return mp.findroot(lambda y: mp.log(mp.erfc(y)) - mp.log(z), guess)


def _bessel(function: Callable[..., mpf], order: int) -> Callable[[mpf], mpf]:
    return lambda x: function(order, x)


BOTH = ("float", "double")
CASES = {
    "cyl_bessel_i0": Case(_bessel(mp.besseli, 0), -700, 700, -60),
    "cyl_bessel_i1": Case(_bessel(mp.besseli, 1), -700, 700, -60),
    "erfcx": Case(lambda x: mp.exp(x * x) * mp.erfc(x), -26, 30, -60),
    "erfinv": Case(mp.erfinv, -1, 1, -60),
    "erfcinv": Case(_erfcinv, 0, 2, -1070),
    "normcdf": Case(mp.ncdf, -37, 9, -60),
    "normcdfinv": Case(lambda p: -mp.sqrt(2) * _erfcinv(2 * p), 0, 1, -1070),
    "erfc": Case(mp.erfc, -6, 26),
    "tgamma": Case(mp.gamma, -30, 35, types=BOTH),
    "lgamma": Case(lambda x: mp.log(abs(mp.gamma(x))), -30, 1000, types=BOTH),
    "j0": Case(_bessel(mp.besselj, 0), -100, 100, types=BOTH),
    "j1": Case(_bessel(mp.besselj, 1), -100, 100, types=BOTH),
    "y0": Case(_bessel(mp.bessely, 0), 0, 100, types=BOTH),
    "y1": Case(_bessel(mp.bessely, 1), 0, 100, types=BOTH),
}


def largest_error(name: str, element: str, count: int) -> tuple[float, float]:
    """The largest error in ulp at `count` arguments, and at which."""
    case, dtype = CASES[name], np.dtype(np.float64 if element == "double" else np.float32)
    x = _arguments(case, count, dtype)
    result = np.empty_like(x)
    symbol = name if element == "double" else f"{name}f"
    emit = FUNCTIONS[symbol][0] if symbol in FUNCTIONS else by_lanes(symbol)
    compiled(emit, 1, element)(x, result)
    worst = 0.0, 0.0
    for argument, value in zip(x.tolist(), result.tolist(), strict=True):
        exact = case.exact(mpf(argument))
        error = float(abs(mpf(value) - exact) / mpf(float(np.spacing(dtype.type(abs(exact))))))
        worst = max(worst, (error, argument))
    return worst


def _arguments(case: Case, count: int, dtype: np.dtype[Any]) -> Array:
    random = np.random.default_rng(0)
    x = random.uniform(case.lowest, case.highest, count)
    if case.smallest is not None:
        powers = random.uniform(case.smallest, np.log2(case.highest), count)
        sign = random.choice([-1, 1], count) if case.lowest < 0 else 1
        magnitudes = np.clip(np.exp2(powers) * sign, case.lowest, case.highest)
        x = random.permuted(np.concatenate([x, magnitudes]))
    return x[: count // WIDTH * WIDTH].astype(dtype)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="functions; all by default")
    parser.add_argument("--count", type=int, default=4000, help="how many arguments")
    arguments = parser.parse_args()
    mp.dps = DIGITS
    for name in arguments.names or CASES:
        for element in CASES[name].types:
            error, argument = largest_error(name, element, arguments.count)
            print(f"{name:13} {element:6} {error:10.3f} ulp at {argument!r}", flush=True)


if __name__ == "__main__":
    run_script(main)
