"""`tl.sort` and `tl.topk`, which Triton writes with blocks of many dimensions of size 2."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected


@triton.jit
def sort_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, DESCENDING: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + offsets, tl.sort(tl.load(x_ptr + offsets), descending=DESCENDING))


@pytest.mark.parametrize(
    ("shape", "dtype", "vlen_bits"),
    [
        ((1, 4), np.float32, 256),
        pytest.param((4, 32), np.float32, 128, marks=pytest.mark.long),
        pytest.param((1, 256), np.int32, 256, marks=pytest.mark.long),
        ((8, 16), np.int8, 512),
        ((2, 64), np.float16, 256),
        pytest.param((4, 16), np.float64, 256, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_rows_are_sorted(run, shape, dtype, vlen_bits):
    x = np.random.default_rng(1).integers(-99, 99, shape).astype(dtype)
    descending = dtype == np.float64
    out = np.sort(x)[:, :: -1 if descending else 1]
    sizes = {"M": shape[0], "N": shape[1], "DESCENDING": descending}
    expected = Expected(np.ascontiguousarray(out))
    run(sort_kernel, x_ptr=x, out_ptr=expected, **sizes, vlen_bits=vlen_bits)


@triton.jit
def top_kernel(x_ptr, top_ptr, order_ptr, n, N: tl.constexpr, K: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=float("-inf"))
    tl.store(top_ptr + tl.arange(0, K), tl.topk(x, K))
    # The order of positive numbers: their bits sort as they do, with the position below.
    keys = (x * x).to(tl.int32, bitcast=True).to(tl.int64) << 32 | offsets
    tl.store(order_ptr + offsets, tl.sort(keys).to(tl.int32))


def test_the_largest_and_the_order(run):
    x = np.random.default_rng(2).standard_normal(64).astype(np.float32)
    padded = x.copy()
    padded[50:] = -np.inf
    top = np.sort(padded)[::-1][:8]
    order = np.argsort(padded * padded, kind="stable").astype(np.int32)
    outputs = {"top_ptr": Expected(top.copy()), "order_ptr": Expected(order)}
    run(top_kernel, x_ptr=x, **outputs, n=50, N=64, K=8)


@triton.jit
def short_rows_kernel(
    x_ptr, out_ptr, AXIS: tl.constexpr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr
):
    flat = tl.arange(0, A * B * C)
    x = tl.reshape(tl.load(x_ptr + flat), (A, B, C)) * 2
    places = tl.reshape(tl.arange(0, A * B * C) % 5, (A, B, C))
    first, last = tl.arange(0, A)[:, None, None], tl.arange(0, C)[None, None, :]
    kept = (first > 0) & (last * 2 + 1 < 2 * C)
    value = tl.sum(tl.where(places == 3, 100, tl.where(kept, x + last, first)), AXIS)
    tl.store(out_ptr + tl.arange(0, A * B * C // x.shape[AXIS]), tl.ravel(value))


@pytest.mark.parametrize(
    ("shape", "axis"),
    in_turn([((4, 2, 2),), ((2, 32, 4),), ((64, 2, 1),), ((2, 2, 8),)], [0, 1, 2]),
)
def test_short_rows(run, axis, shape):
    x = np.random.default_rng(3).integers(-99, 99, shape).astype(np.int32)
    marked = (np.arange(x.size) % 5 == 3).reshape(shape)
    first, _, last = np.indices(shape)
    values = np.where((first > 0) & (last * 2 + 1 < 2 * shape[2]), 2 * x + last, first)
    out = np.where(marked, 100, values).sum(axis=axis).astype(np.int32)
    run(
        short_rows_kernel,
        x_ptr=x,
        out_ptr=Expected(out),
        AXIS=axis,
        **dict(zip("ABC", shape, strict=True)),
    )
