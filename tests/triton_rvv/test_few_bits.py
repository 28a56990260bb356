"""Floats as integers of 8 and 16 bits, with limits that are known beforehand."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from qemu_kernels import Expected

N = 4096
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 127.5, -128.5, 255.5, 3e38, -3e38, -1e-40, 1e-40]
SPECIAL += [-(2.0**-20), -(2.0**-30), -(2.0**-60), 0.49999997, 0.99999994, -0.99999994]


@triton.jit
def signed_kernel(
    x_ptr, floor_ptr, after_ptr, cut_ptr, sum_ptr, short_ptr, below_ptr, N: tl.constexpr
):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(floor_ptr + at, tl.clamp(tl.floor(x), -128.0, 127.0).to(tl.int8))
    inside = tl.minimum(tl.maximum(x, -100.0), 90.0)
    tl.store(after_ptr + at, tl.floor(inside).to(tl.int8))
    tl.store(cut_ptr + at, inside.to(tl.int8))
    tl.store(sum_ptr + at, tl.clamp(tl.floor(x + 0.5), -127.0, 127.0).to(tl.int8))
    tl.store(short_ptr + at, tl.clamp(tl.floor(x * 100), -32768.0, 32767.0).to(tl.int16))
    # -0.0 itself would be 0.0: Triton makes a null value of it.
    below = tl.minimum(tl.maximum(x + 1.0, -128.0), tl.zeros((N,), tl.float32) * -1.0)
    tl.store(below_ptr + at, tl.floor(below).to(tl.int8))


@triton.jit
def unsigned_kernel(x_ptr, floor_ptr, cut_ptr, other_ptr, short_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(floor_ptr + at, tl.clamp(tl.floor(x), 0.0, 255.0).to(tl.uint8))
    # The other order makes another number of NaN.
    inside = tl.maximum(tl.minimum(x, 255.0), 0.0)
    tl.store(cut_ptr + at, inside.to(tl.uint8))
    # Limits that are not whole, or do not fit.
    tl.store(other_ptr + at, tl.clamp(x, -0.5, 255.5).to(tl.uint8))
    tl.store(short_ptr + at, tl.clamp(x * 100, 1.0, 65535.0).to(tl.uint16))


def _numbers() -> np.ndarray:
    """Around whole numbers and halves, of all sizes, and special ones."""
    random = np.random.default_rng(0)
    halves = random.integers(-300, 600, N).astype(np.float32) / 2
    x = halves + random.integers(-2, 3, N).astype(np.float32) * np.spacing(halves)
    quarter = N // 4
    x[:quarter] = random.standard_normal(quarter) * 10.0 ** random.integers(-30, 6, quarter)
    x[: len(SPECIAL)] = SPECIAL
    return x.astype(np.float32)


def _clamped(x: np.ndarray, low: float, high: float) -> np.ndarray:
    return np.fmin(np.fmax(x, np.float32(low)), np.float32(high))


@pytest.mark.parametrize("vlen_bits", [128, 256, 512])
def test_with_sign(run, vlen_bits):
    x = _numbers()
    inside = _clamped(x, -100, 90)
    with np.errstate(all="ignore"):
        outputs = {
            "floor_ptr": np.floor(_clamped(x, -128, 127)).astype(np.int8),
            "after_ptr": np.floor(inside).astype(np.int8),
            "cut_ptr": np.trunc(inside).astype(np.int8),
            "sum_ptr": np.floor(_clamped(x + np.float32(0.5), -127, 127)).astype(np.int8),
            "short_ptr": np.floor(_clamped(x * np.float32(100), -32768, 32767)).astype(np.int16),
            "below_ptr": np.floor(_clamped(x + np.float32(1), -128, -0.0)).astype(np.int8),
        }
    expected = {name: Expected(output) for name, output in outputs.items()}
    run(signed_kernel, x_ptr=x, **expected, N=N, vlen_bits=vlen_bits)


@pytest.mark.parametrize("vlen_bits", [128, 256, 512])
def test_without_sign(run, vlen_bits):
    x = _numbers()
    other = np.trunc(_clamped(x, -0.5, 255.5))
    with np.errstate(all="ignore"):
        outputs = {
            "floor_ptr": np.floor(_clamped(x, 0, 255)).astype(np.uint8),
            "cut_ptr": np.trunc(np.fmax(np.fmin(x, 255), 0)).astype(np.uint8),
            "other_ptr": np.maximum(other, 0).astype(np.uint8),
            "short_ptr": np.trunc(_clamped(x * np.float32(100), 1, 65535)).astype(np.uint16),
        }
    expected = {name: Expected(output) for name, output in outputs.items()}
    run(unsigned_kernel, x_ptr=x, **expected, N=N, vlen_bits=vlen_bits)
