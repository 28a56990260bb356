"""Counts of what is true, along rows and over the turns of a loop."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from qemu_kernels import Expected


@triton.jit
def count_kernel(x_ptr, rows_ptr, bytes_ptr, total_ptr, n, M: tl.constexpr, N: tl.constexpr):
    """How many numbers of each of M rows are below 0 or NaN, with n of N there; and of all rows."""
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    there = columns[None, :] < n
    x = tl.load(x_ptr + rows[:, None] * n + columns[None, :], mask=there, other=-1.0)
    tl.store(rows_ptr + rows, tl.sum((~(x >= 0)).to(tl.int64), axis=1))
    tl.store(bytes_ptr + rows, tl.sum((~(x >= 0)).to(tl.int8), axis=1).to(tl.int8))
    total = tl.zeros((N,), dtype=tl.int32)
    for row in range(M):
        of_row = tl.load(x_ptr + row * n + columns, mask=columns < n, other=0.0)
        total += tl.where(of_row < 0, 1, 0)
    tl.store(total_ptr, tl.sum(total, axis=0))


@pytest.mark.parametrize(
    ("rows", "size", "there"), [(4, 512, 512), (4, 512, 333), (2, 16, 7), (4, 1, 1)]
)
def test_counts_of_rows(run, rows, size, there):
    """Lanes that a mask leaves out count by what takes their place."""
    x = np.random.default_rng(4).standard_normal((rows, there)).astype(np.float32)
    x[0, :5] = [np.nan, -0.0, np.inf, -np.inf, 0.0][:there]
    counts = (~(x >= 0)).sum(1) + size - there
    run(
        count_kernel,
        x_ptr=x,
        rows_ptr=Expected(counts.astype(np.int64)),
        bytes_ptr=Expected(counts.astype(np.int8)),
        total_ptr=Expected(np.array([(x < 0).sum()], np.int32)),
        n=there,
        M=rows,
        N=size,
    )
