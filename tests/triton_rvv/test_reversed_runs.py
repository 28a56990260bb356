"""Loads and stores that go back through memory, and masks of lines that fall."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from qemu_kernels import Expected

from triton_rvv import RVVTarget, compile_kernel


@triton.jit
def backwards_kernel(
    x_ptr, from_ptr, y_ptr, low, high, STEP: tl.constexpr, FILL: tl.constexpr, N: tl.constexpr
):
    row = tl.program_id(0)
    at = tl.arange(0, N)
    back = tl.load(from_ptr + row) - STEP * at
    mask = (back >= low) & (back < high)
    tl.store(y_ptr + row * N + at, tl.load(x_ptr + back, mask=mask, other=FILL))


def _counts(kernel, types, **constants):
    compiled = compile_kernel(kernel, types, constants, RVVTarget())
    return {each.name: each.count for each in compiled.passes}


@pytest.mark.parametrize(("step", "count"), [(1, 1), (2, 0), (-1, 0)])
def test_neighbours_alone_are_turned_around(step, count):
    types = dict.fromkeys(["low", "high"], "i32")
    pointers = {"x_ptr": "*i32", "from_ptr": "*i32", "y_ptr": "*i32"}
    counts = _counts(backwards_kernel, pointers | types, STEP=step, FILL=0, N=64)
    assert counts["load-reversed"] == count
    assert counts["count-lanes"] == int(step != 2)


@pytest.mark.parametrize(
    ("dtype", "size", "low", "high", "step", "fill", "vlen_bits"),
    [
        (np.uint8, 64, 0, 70, 1, 0, 256),
        (np.float32, 128, 3, 60, 1, 5, 128),
        (np.int64, 32, 1, 71, 1, 0, 1024),
        (np.int16, 64, 0, 70, 1, -3, 512),
        (np.int32, 64, 0, 70, 2, 7, 256),
    ],
)
def test_backwards_under_masks(run, dtype, size, low, high, step, fill, vlen_bits):
    x = np.random.default_rng(8).integers(1, 100, 71).astype(dtype)
    start = np.array([-5, 0, 9, 63, 64, 70, 131, 200, 2**31 - 1, -(2**31)], np.int32)
    at = np.arange(size, dtype=np.int32)
    back = (start[:, None].astype(np.int64) - step * at).astype(np.int32)  # wraps
    on = (back >= low) & (back < high)
    y = np.where(on, x[np.where(on, back, 0)], np.array(fill, dtype))
    run(
        backwards_kernel, grid=(len(start),), x_ptr=x, from_ptr=start, y_ptr=Expected(y),
        low=low, high=high, STEP=step, FILL=fill, N=size, vlen_bits=vlen_bits,
    )  # fmt: skip


@triton.jit
def reads_kernel(x_ptr, length_ptr, y_ptr, rows, width, ROWS: tl.constexpr, N: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    at = tl.arange(0, N)[None, :]
    length = tl.load(length_ptr + row, mask=row < rows, other=0)
    back = tl.load(x_ptr + (row * width + length - 1 - at), mask=at < length, other=0)
    tl.store(y_ptr + row * width + at, back, mask=(row < rows) & (at < width))


@pytest.mark.parametrize("rows_at_once", [1, 4])
def test_rows_from_their_own_ends(run, rows_at_once):
    """A number of each row, or of the only one, is a part of where the row lies."""
    lengths = np.array([31, 1, 50, 0, 17, 33, 32], np.int32)
    x = np.random.default_rng(9).integers(1, 100, (7, 50)).astype(np.uint8)
    back = [
        np.pad(row[:length][::-1], (0, 50 - length)) for row, length in zip(x, lengths, strict=True)
    ]
    run(
        reads_kernel, grid=(-(-7 // rows_at_once),), x_ptr=x, length_ptr=lengths,
        y_ptr=Expected(np.stack(back)), rows=7, width=50, ROWS=rows_at_once, N=64,
    )  # fmt: skip
    types = {"x_ptr": "*u8", "length_ptr": "*i32", "y_ptr": "*u8", "rows": "i32", "width": "i32"}
    assert _counts(reads_kernel, types, ROWS=rows_at_once, N=64)["load-reversed"] == 1


@triton.jit
def mirror_kernel(
    x_ptr, y_ptr, z_ptr, n, low, STEP: tl.constexpr, ROWS: tl.constexpr, N: tl.constexpr
):
    at = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    tl.store(y_ptr + STEP * (n - 1 - at), x, mask=at < n)
    rows, columns = tl.arange(0, ROWS)[:, None], tl.arange(0, N)[None, :]
    back = rows * N + N - 1 - columns
    tl.store(z_ptr + back, rows + columns, mask=(columns >= low) & (rows < ROWS - 1))


@pytest.mark.parametrize(
    ("dtype", "n", "low", "step", "vlen_bits"),
    [
        (np.uint8, 200, 5, 1, 256),
        (np.float32, 128, 0, 1, 128),
        (np.int64, 71, 63, 1, 1024),
        (np.int16, 64, 1, 1, 512),
        (np.int32, 130, 3, 2, 256),
    ],
)
def test_stores_backwards(run, dtype, n, low, step, vlen_bits):
    x, size, rows = np.arange(1, n + 1).astype(dtype), 64, 4
    start, y = np.full(step * n, 7, dtype), np.full(step * n, 7, dtype)
    y[::step][:n] = x[::-1]
    z = np.full((rows, size), -1, np.int32)
    z[:-1, : size - low] = (np.arange(rows)[:-1, None] + np.arange(low, size))[:, ::-1]
    run(
        mirror_kernel, grid=(-(-n // size),), x_ptr=x, y_ptr=Expected(y, start=start),
        z_ptr=Expected(z, start=np.full((rows, size), -1, np.int32)),
        n=n, low=low, STEP=step, ROWS=rows, N=size, vlen_bits=vlen_bits,
    )  # fmt: skip
