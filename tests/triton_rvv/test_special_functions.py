"""Bessel, gamma and error functions with their inverses, and lengths: errors in ulp."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
import triton
import triton.language as tl
from math_samples import SPECIAL, check_errors, samples, store_error
from qemu_kernels import Expected
from triton.language.extra import libdevice

ROUNDED_ONCE = 0.51
# What is computed in single precision.
LIMITS = {"erfc": 3.5, "normcdf": 3.5}


# Where the arguments are. Beyond 50 the references of some are not exact.
VECTORS = {
    "cyl_bessel_i0": (scipy.special.i0, (-91, 91)),
    "cyl_bessel_i1": (scipy.special.i1, (-91, 91)),
    "erfc": (scipy.special.erfc, (-4, 10)),
    "erfcinv": (scipy.special.erfcinv, (0, 2)),
    "erfcx": (scipy.special.erfcx, (-9, 20)),
    "erfinv": (scipy.special.erfinv, (-1, 1)),
    "normcdf": (scipy.special.ndtr, (-14, 6)),
    "normcdfinv": (scipy.special.ndtri, (0, 1)),
}
CALLED = {
    "j0": (scipy.special.j0, (-50, 50)),
    "j1": (scipy.special.j1, (-50, 50)),
    "lgamma": (scipy.special.gammaln, (0, 50)),
    "tgamma": (scipy.special.gamma, (0, 30)),
    "y0": (scipy.special.y0, (0, 50)),
    "y1": (scipy.special.y1, (0, 50)),
}


@triton.jit
def error_kernel(
    x_ptr, exact_ptr, per_limit_ptr, error_ptr, n, BLOCK: tl.constexpr, NAMES: tl.constexpr
):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for place in tl.static_range(len(NAMES)):
        result = getattr(libdevice, NAMES[place])(tl.load(x_ptr + at))
        store_error(result, exact_ptr, per_limit_ptr, error_ptr, at)
        at += n


def check_functions(run, functions, vlen_bits):
    x = [_arguments(name, *functions[name]) for name in functions]
    exact = [f(row.astype(np.float64)) for (f, _), row in zip(functions.values(), x, strict=True)]
    limits, names = [LIMITS.get(name, ROUNDED_ONCE) for name in functions], tuple(functions)
    worst = check_errors(
        run, error_kernel, exact, limits, vlen_bits, x_ptr=np.stack(x), NAMES=names
    )
    # Errors this small over so many arguments would mean that nothing was measured.
    assert worst > 0.9


def _arguments(name, reference, limits):
    x = samples(reference, *limits)
    if name in CALLED:
        # Beyond the limits the references are not exact.
        x = np.where(np.abs(x) > limits[1], np.frexp(x)[0] * np.float32(limits[1]), x)
    return np.abs(x) if limits[0] == 0 else x


@pytest.mark.long
@pytest.mark.parametrize("vlen_bits", [pytest.param(128, marks=pytest.mark.long), 256])
def test_errors_of_vector_code(run, vlen_bits):
    check_functions(run, VECTORS, vlen_bits)


def test_errors_of_what_calls_the_c_library(run):
    check_functions(run, CALLED, 256)


@triton.jit
def special_kernel(x_ptr, out_ptr, N: tl.constexpr, NAMES: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    for place in tl.static_range(len(NAMES)):
        tl.store(out_ptr + at + place * N, getattr(libdevice, NAMES[place])(x))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_special_values(run, dtype):
    x = SPECIAL.astype(dtype)
    with np.errstate(all="ignore"):
        exact = np.stack([f(x.astype(np.float64)) for f, _ in VECTORS.values()]).astype(dtype)
    # SciPy gives NaN for the Bessel functions of infinity.
    exact[0, np.isinf(x)], exact[1, np.isinf(x)] = np.inf, x[np.isinf(x)]
    expected = Expected(exact, rtol=4 * np.finfo(dtype).eps, atol=1.5e-45)
    run(special_kernel, x_ptr=x, out_ptr=expected, N=len(x), NAMES=tuple(VECTORS))


def test_double_precision(run):
    random, names = np.random.default_rng(7), tuple(VECTORS)
    x = np.stack([random.uniform(*limits, 64) for _, limits in VECTORS.values()])
    x[:, 0] = 1e-200
    exact = np.stack([f(row) for (f, _), row in zip(VECTORS.values(), x, strict=True)])
    run(rows_kernel, x_ptr=x, out_ptr=Expected(exact, rtol=2e-13), N=64, NAMES=names)


@triton.jit
def rows_kernel(x_ptr, out_ptr, N: tl.constexpr, NAMES: tl.constexpr):
    at = tl.arange(0, N)
    for place in tl.static_range(len(NAMES)):
        tl.store(out_ptr + at, getattr(libdevice, NAMES[place])(tl.load(x_ptr + at)))
        at += N


@triton.jit
def lengths_kernel(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    a, b = tl.load(x_ptr + at), tl.load(x_ptr + N + at)
    c, d = tl.load(x_ptr + 2 * N + at), tl.load(x_ptr + 3 * N + at)
    tl.store(out_ptr + at, libdevice.rhypot(a, b))
    tl.store(out_ptr + N + at, libdevice.rnorm3d(a, b, c))
    tl.store(out_ptr + 2 * N + at, libdevice.rnorm4d(a, b, c, d))
    tl.store(out_ptr + 3 * N + at, libdevice.norm4d(a, b, c, d))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lengths_neither_overflow_nor_vanish(run, dtype):
    limits = np.finfo(dtype)
    x = np.random.default_rng(8).normal(0, 1, (4, 16)).astype(dtype)
    x[:, 0] = limits.max / 4
    x[:, 1] = limits.tiny * 4
    x[:, 2] = 0, 0, 0, 0
    x[:, 3] = np.inf, np.nan, 1, 1
    scale = np.max(np.where(np.isfinite(x), np.abs(x), 1), axis=0)
    with np.errstate(all="ignore"):
        part = x.astype(np.longdouble) / scale
        lengths = [np.sqrt((part[:n] ** 2).sum(axis=0)) * scale for n in (2, 3, 4)]
        exact = np.stack([1 / lengths[0], 1 / lengths[1], 1 / lengths[2], lengths[2]])
    exact[:, 2] = np.inf, np.inf, np.inf, 0
    exact[:, 3] = 0, 0, 0, np.inf
    tolerance = 4 * limits.eps
    expected = Expected(exact.astype(dtype), rtol=tolerance, atol=2 * limits.smallest_subnormal)
    run(lengths_kernel, x_ptr=x, out_ptr=expected, N=16)
