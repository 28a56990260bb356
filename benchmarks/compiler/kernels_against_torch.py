"""Kernels for benchmarks/compiler/bench_host.py, as a user writes them."""

from __future__ import annotations

import triton
import triton.language as tl

__all__ = [
    "add_kernel",
    "column_sum_kernel",
    "embedding_kernel",
    "layernorm_kernel",
    "row_sum_kernel",
    "softmax_kernel",
    "transposed_kernel",
]


@triton.jit
def softmax_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=-float("inf"))
    numerator = tl.exp(x - tl.max(x))
    tl.store(out_ptr + row * n + at, numerator / tl.sum(numerator), mask=at < n)


@triton.jit
def layernorm_kernel(x_ptr, w_ptr, b_ptr, out_ptr, n, eps, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0)
    centred = tl.where(at < n, x - tl.sum(x) / n, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred) / n + eps)
    w, b = tl.load(w_ptr + at, mask=at < n), tl.load(b_ptr + at, mask=at < n)
    tl.store(out_ptr + row * n + at, centred * scale * w + b, mask=at < n)


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0)
    tl.store(out_ptr + row, tl.sum(x))


@triton.jit
def column_sum_kernel(x_ptr, out_ptr, m, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((COLUMNS,), tl.float32)
    for first in range(0, m, ROWS):
        rows = first + tl.arange(0, ROWS)
        inside = (rows < m)[:, None] & (columns < n)[None, :]
        x = tl.load(x_ptr + rows[:, None] * n + columns[None, :], mask=inside, other=0.0)
        total += tl.sum(x, 0)
    tl.store(out_ptr + columns, total, mask=columns < n)


@triton.jit
def transposed_kernel(x_ptr, out_ptr, m, n, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (rows < m)[:, None] & (columns < n)[None, :]
    x = tl.load(x_ptr + rows[:, None] * n + columns[None, :], mask=inside)
    tl.store(out_ptr + columns[:, None] * m + rows[None, :], tl.trans(x), mask=tl.trans(inside))


@triton.jit
def embedding_kernel(ids_ptr, table_ptr, out_ptr, n, BLOCK: tl.constexpr):
    token, at = tl.program_id(0), tl.arange(0, BLOCK)
    row = tl.load(ids_ptr + token)
    tl.store(out_ptr + token * n + at, tl.load(table_ptr + row * n + at, mask=at < n), mask=at < n)


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x_ptr + at, mask=at < n) + tl.load(y_ptr + at, mask=at < n)
    tl.store(out_ptr + at, total, mask=at < n)
