"""Masks that compare a sum of several dimensions, such as a flat index."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected

ROWS, COLUMNS = 8, 64
SIZE = ROWS * COLUMNS


@triton.jit
def flat_kernel(
    x_ptr, y_ptr, chosen_ptr, largest_ptr, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    at = rows[:, None] * COLUMNS + columns[None, :]
    x = tl.load(x_ptr + at, mask=at < n, other=-5.0)
    tl.store(y_ptr + at, x + 1, mask=at <= n - 2)
    tl.store(chosen_ptr + at, tl.where(at < n, x * 2, 3.0))
    tl.store(largest_ptr + rows, tl.max(x, axis=1))


@pytest.mark.parametrize(
    ("n", "vlen_bits"),
    in_turn([0, 1, 63, 64, 65, 300, 511, 512, 513, 2000], [128, 256, 512]),
)
def test_flat_indices(run, n, vlen_bits):
    random = np.random.default_rng(n)
    held = random.standard_normal(SIZE).astype(np.float32)
    at = np.arange(SIZE)
    x = np.where(at < n, held, np.float32(-5))
    start = np.full(SIZE, 9, np.float32)
    run(
        flat_kernel,
        x_ptr=held,
        y_ptr=Expected(np.where(at <= n - 2, x + 1, start), start=start),
        chosen_ptr=Expected(np.where(at < n, x * 2, np.float32(3))),
        largest_ptr=Expected(x.reshape(ROWS, COLUMNS).max(1)),
        n=n,
        ROWS=ROWS,
        COLUMNS=COLUMNS,
        vlen_bits=vlen_bits,
    )


@triton.jit
def wrapping_kernel(out_ptr, wide_ptr, first, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    number = first + at
    tl.store(out_ptr + at, 1.0 + at, mask=number < n)
    tl.store(wide_ptr + at, 1.0 + at, mask=number.to(tl.int64) < n)


@pytest.mark.parametrize(
    ("first", "n"),
    in_turn([0, 2**31 - 100, 2**31 - 512, -(2**31), -300], [2**31 - 1, 0, 64, -(2**31) + 10]),
)
def test_indices_that_wrap(run, first, n):
    at = np.arange(SIZE)
    with np.errstate(over="ignore"):
        number = (np.int64(first) + at).astype(np.int32)
    start = np.full(SIZE, 9, np.float32)
    stored = np.where(number < n, 1 + at, start).astype(np.float32)
    run(
        wrapping_kernel,
        out_ptr=Expected(stored, start=start),
        wide_ptr=Expected(stored, start=start),
        first=first,
        n=n,
        ROWS=ROWS,
        COLUMNS=COLUMNS,
    )
