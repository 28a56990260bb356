"""Random strides, shifts, wraps and masks: addresses against NumPy's."""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from qemu_kernels import Expected

X = np.arange(5000, dtype=np.int32) * 7 - 9999
M, N = 8, 32

small = st.integers(-6, 6)
size = st.integers(1, 60)


def fixed_examples(count):
    """The same examples on every run, each of which takes a program under QEMU.

    On a starved machine, even to draw numbers may take half a minute.
    """
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )


@triton.jit
def addresses_kernel(
    x_ptr,
    out_ptr,
    base,
    row_stride,
    column_stride,
    wrap,
    low,
    high,
    M: tl.constexpr,
    N: tl.constexpr,
):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    wrapped = columns % wrap
    offsets = base + rows[:, None] * row_stride + wrapped[None, :] * column_stride
    mask = (rows[:, None] >= low) & (columns[None, :] * 2 - rows[:, None] < high)
    mask = mask & (wrapped[None, :] != 3)
    x = tl.load(x_ptr + offsets, mask=mask, other=-1)
    place = rows[:, None] * (N * tl.num_programs(1)) + columns[None, :]
    tl.store(out_ptr + place, x)
    tl.store(out_ptr + M * N * tl.num_programs(0) * tl.num_programs(1) + place, offsets, mask=mask)


@fixed_examples(15)
@given(
    row_stride=st.sampled_from([-40, -1, 0, 1, 2, 40]),
    column_stride=st.sampled_from([-3, -1, 0, 1, 2]),
    wrap=st.sampled_from([1, 5, 31, 32, 33, 64, 1000]),
    low=st.integers(-2, 18),
    high=st.integers(-20, 140),
    specialised=st.booleans(),
)
def test_loads(run, row_stride, column_stride, wrap, low, high, specialised):
    grid = (2, 2)
    rows, columns = np.mgrid[: grid[0] * M, : grid[1] * N]
    wrapped = columns % wrap
    offsets = 2000 + rows * row_stride + wrapped * column_stride
    mask = (rows >= low) & (columns * 2 - rows < high) & (wrapped != 3)
    start = np.full((2, *rows.shape), -5, np.int32)
    expected = np.stack([np.where(mask, X[offsets], -1), np.where(mask, offsets, -5)])
    run(
        addresses_kernel,
        grid=grid,
        x_ptr=X,
        out_ptr=Expected(expected.astype(np.int32), start=start),
        base=2000,
        row_stride=row_stride,
        column_stride=column_stride,
        wrap=wrap,
        low=low,
        high=high,
        M=M,
        N=N,
        known=("row_stride", "column_stride", "wrap") if specialised else (),
    )


@triton.jit
def arithmetic_kernel(out_ptr, a, b, c, d, N: tl.constexpr):
    i = tl.arange(0, N)
    x = (i * a + b) * c - i
    y = d - (x + i * 3) // 4
    z = tl.maximum(tl.minimum(x, d), -d) % 7
    tl.store(out_ptr + i, x)
    tl.store(out_ptr + N + i, y)
    tl.store(out_ptr + 2 * N + i, z)
    tl.store(out_ptr + 3 * N + i, (x.to(tl.int64) * 5 - y).to(tl.int32))
    tl.store(out_ptr + 4 * N + i, tl.where((x < d) & (i * 2 >= a + b), x, y))


def truncated(x, y):
    """Quotient toward zero, as C has it and Triton with it."""
    return np.sign(x) * np.sign(y) * (np.abs(x) // np.abs(y))


@fixed_examples(30)
@given(a=small, b=small, c=small, d=size)
def test_arithmetic(run, a, b, c, d):
    i = np.arange(64)
    x = (i * a + b) * c - i
    y = d - truncated(x + i * 3, np.int64(4))
    clamped = np.maximum(np.minimum(x, d), -d)
    z = clamped - 7 * truncated(clamped, np.int64(7))
    rows = [x, y, z, x * 5 - y, np.where((x < d) & (i * 2 >= a + b), x, y)]
    out = Expected(np.stack(rows).astype(np.int32))
    run(arithmetic_kernel, out_ptr=out, a=a, b=b, c=c, d=d, N=64)


@triton.jit
def move_kernel(x_ptr, first, second, stride, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + first + i * stride, mask=i < n, other=0)
    y = tl.load(x_ptr + second + i, mask=i < n, other=0)
    tl.store(x_ptr + second + i, x + 1, mask=i < n)
    tl.store(x_ptr + first + i * stride, y, mask=i < n)


@fixed_examples(40)
@given(
    first=st.integers(0, 80),
    second=st.integers(0, 80),
    stride=st.sampled_from([1, 2, 3]),
    n=st.integers(0, 64),
)
def test_overlapping_moves_within_one_array(run, first, second, stride, n):
    start = X[:400]
    expected = start.copy()
    x = expected[first : first + n * stride : stride].copy()
    y = expected[second : second + n].copy()
    expected[second : second + n] = x + 1
    expected[first : first + n * stride : stride] = y
    values = {"first": first, "second": second, "stride": stride, "n": n}
    run(move_kernel, x_ptr=Expected(expected, start=start), **values, N=64)
