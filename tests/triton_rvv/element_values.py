"""Values of every element type, with the extreme ones first, for tests of arithmetic."""

from __future__ import annotations

import numpy as np
from qemu_kernels import Expected

__all__ = ["FLOATS", "INTEGERS", "N", "check", "floats", "integers"]

N = 64

INTEGERS = (np.int8, np.int16, np.int32, np.int64)
FLOATS = (np.float32, np.float64)


def integers(dtype, seed, nonzero=False):
    limits = np.iinfo(dtype)
    random = np.random.default_rng(seed)
    values = random.integers(limits.min, limits.max, N, dtype, endpoint=True)
    values[:4] = limits.min, limits.max, 0, 1
    values[4 : N // 2] //= limits.max // 50 or 1
    return np.where(values == 0, dtype(3), values) if nonzero else values


def floats(dtype, seed):
    values = np.random.default_rng(seed).standard_normal(N)
    large = np.finfo(dtype).max / 2
    values[:8] = 0.0, -0.0, 1.0, -1.0, large, -1 / large, np.inf, -np.inf
    return values.astype(dtype)


def check(run, kernel, results, atol=0.0, rtol=0.0, **values):
    """`kernel` stores one row of its only output for each of `results`."""
    table = np.stack([np.asarray(result) for result in results])
    run(kernel, out_ptr=Expected(table, atol=atol, rtol=rtol), N=N, **values)
