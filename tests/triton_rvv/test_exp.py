"""The error of exp over the whole range of float32."""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl
from qemu_kernels import Expected

BLOCK = 512


@triton.jit
def exp_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.exp(tl.load(x_ptr + offsets)))


@triton.jit
def exp_error_kernel(x_ptr, exact_ptr, per_ulp_ptr, error_ptr, BLOCK: tl.constexpr):
    """|exp(x) - exact| in units of the last place of the result."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    result = tl.exp(tl.load(x_ptr + offsets)).to(tl.float64)
    error = tl.abs(result - tl.load(exact_ptr + offsets)) * tl.load(per_ulp_ptr + offsets)
    tl.store(error_ptr + offsets, error)


def finite_inputs():
    """Every 4096th float32, and closely the ranges where results are denormal or overflow."""
    everywhere = np.arange(0, 2**32, 4096, dtype=np.uint32).view(np.float32)
    ordinary = np.linspace(-90, 89, 300_000, dtype=np.float32)
    denormal = np.linspace(-104, -87, 100_000, dtype=np.float32)
    x = np.concatenate([everywhere, ordinary, denormal])
    with np.errstate(over="ignore", invalid="ignore"):
        exact = np.exp(x.astype(np.float64))
        x = x[np.isfinite(exact.astype(np.float32))]
    return x[: len(x) // BLOCK * BLOCK]


def test_error_is_below_one_ulp(run, record_property):
    x = finite_inputs()
    # In double precision, whose own error is below a hundred millionth of a float32 ulp.
    exact = np.exp(x.astype(np.float64))
    _, exponent = np.frexp(exact)
    ulp = np.ldexp(1.0, np.maximum(exponent - 24, -149))
    report = run(
        exp_error_kernel,
        x_ptr=x,
        exact_ptr=exact,
        per_ulp_ptr=1 / ulp,
        error_ptr=Expected(np.zeros(len(x)), atol=np.nextafter(1.0, 0.0)),
        BLOCK=BLOCK,
        grid=(len(x) // BLOCK,),
    )
    # Less than half an ulp over so many inputs would mean that nothing was measured.
    assert 0.5 <= report.max_abs_error < 1
    record_property("exp_max_error_ulp", report.max_abs_error)


def test_special_values(run):
    x = np.zeros(BLOCK, np.float32)
    smallest, largest = np.float32(-103.97), np.float32(88.72283)
    x[:11] = np.nan, -np.nan, np.inf, -np.inf, 0, -0.0, 88.73, 3e38, -104, -3e38, 1e-45
    expected = np.ones(BLOCK, np.float32)
    expected[:11] = np.nan, np.nan, np.inf, 0, 1, 1, np.inf, np.inf, 0, 0, 1
    run(exp_kernel, x_ptr=x, out_ptr=Expected(expected), BLOCK=BLOCK)
    x[:2] = smallest, largest
    expected[:2] = np.exp(np.float64(smallest)), np.exp(np.float64(largest))
    assert 0 < expected[0] < 1e-44
    assert 3.4e38 < expected[1] < np.inf
    run(exp_kernel, x_ptr=x, out_ptr=Expected(expected, rtol=1e-6), BLOCK=BLOCK)
