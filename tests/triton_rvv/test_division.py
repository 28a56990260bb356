"""Division of a block by one number."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 3.4e38, -3.4e38, 9.0, 49.0, 127.0]
N = 1024
# Quotients below 2^-102 may be off by this.
LAST_PLACE = 2.0**-149


@triton.jit
def divide_kernel(x_ptr, out_ptr, row_ptr, by, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x / by)
    rows, columns = tl.arange(0, 4), tl.arange(0, N // 4)
    at = rows[:, None] * (N // 4) + columns[None, :]
    divisor = tl.load(x_ptr + rows + 20)
    tl.store(row_ptr + at, tl.load(x_ptr + at) / divisor[:, None])


@triton.jit
def sign_kernel(x_ptr, out_ptr, by, N: tl.constexpr):
    offsets = tl.arange(0, N)
    quotients = tl.load(x_ptr + offsets) / by
    tl.store(out_ptr + offsets, quotients.to(tl.int32, bitcast=True) >> 31)


@pytest.mark.parametrize("by", [3.0, -49.0, 0.0, np.inf, np.nan, 1e-30, 1e-39, -1e-44, 8.0])
def test_quotients_are_rounded_correctly(run, by):
    random = np.random.default_rng(0)
    x = random.standard_normal(N) * 10.0 ** random.integers(-20, 20, N)
    x[: len(SPECIAL)] = SPECIAL
    x = x.astype(np.float32)
    with np.errstate(all="ignore"):
        quotients = x / np.float32(by)
        rows = x.reshape(4, -1) / x[20:24, None]
    run(
        divide_kernel,
        x_ptr=x,
        out_ptr=Expected(quotients, atol=LAST_PLACE),
        row_ptr=Expected(rows.ravel(), atol=LAST_PLACE),
        by=float(by),
        N=N,
    )


@pytest.mark.parametrize("by", [3.0, -49.0, 0.0, np.inf, -np.inf, 3e38, -1e-44])
def test_quotients_of_zero_keep_their_sign(run, by):
    x = np.array([0.0, -0.0, 1e-44, -1e-44, 2.0, -2.0, 3e38, -3e38] * 2, np.float32)
    if by == 0:
        x = x[np.abs(x) > 0].repeat(2)[:16]
    with np.errstate(all="ignore"):
        signs = -np.signbit(x / np.float32(by)).astype(np.int32)
    run(sign_kernel, x_ptr=x, out_ptr=Expected(signs), by=float(by), N=x.size)


@triton.jit
def known_divisors_kernel(
    x_ptr, least_ptr, scaled_ptr, third_ptr, quarter_ptr, large_ptr, by, N: tl.constexpr
):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    least = tl.maximum(by, 1e-10)
    tl.store(least_ptr + offsets, x / least)
    tl.store(scaled_ptr + offsets, x / (least / 127))
    tl.store(third_ptr + offsets, x / -3.0)
    tl.store(quarter_ptr + offsets, x / -0.25)
    tl.store(large_ptr + offsets, x / 3e38)


@pytest.mark.parametrize("by", [1e-20, 0.7, 12345.0, 1e30, np.inf, np.nan, -1.0])
def test_divisors_of_which_something_is_known(run, by):
    random = np.random.default_rng(1)
    x = random.standard_normal(N) * 10.0 ** random.integers(-20, 20, N)
    x[: len(SPECIAL)] = SPECIAL
    x = x.astype(np.float32)
    least = np.fmax(np.float32(by), np.float32(1e-10))
    with np.errstate(all="ignore"):
        expected = [x / d.astype(np.float32) for d in (least, least / np.float32(127))]
        expected += [x / np.float32(d) for d in (-3, -0.25, 3e38)]
    names = ("least_ptr", "scaled_ptr", "third_ptr", "quarter_ptr", "large_ptr")
    outputs = {
        name: Expected(quotients, atol=LAST_PLACE)
        for name, quotients in zip(names, expected, strict=True)
    }
    # Most of these are below 2^-102, and not the smallest there are.
    outputs["large_ptr"] = Expected(expected[-1], atol=LAST_PLACE, rtol=2.0**-23)
    run(known_divisors_kernel, x_ptr=x, **outputs, by=float(by), N=N)


@pytest.mark.parametrize("by", in_turn([1e35, 3.4e38, 1.5e38], turns=2))
def test_large_divisors_of_which_something_is_known(run, by):
    """Where the reciprocal has few digits: see `lowering/division.py`."""
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, 3e38, -2e38] * 128, np.float32)
    least, zero = np.float32(by), np.full(N, np.nan, np.float32)
    with np.errstate(all="ignore"):
        run(
            large_divisors_kernel,
            x_ptr=x,
            out_ptr=Expected(x / least, rtol=2.0**-20, atol=LAST_PLACE),
            nan_ptr=Expected(zero),
            by=float(by),
            N=N,
        )


@triton.jit
def large_divisors_kernel(x_ptr, out_ptr, nan_ptr, by, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x, least = tl.load(x_ptr + offsets), tl.maximum(by, 1e-10)
    tl.store(out_ptr + offsets, x / least)
    infinite = tl.where(offsets >= 0, float("inf"), x)
    tl.store(nan_ptr + offsets, infinite / (least * float("inf")))
