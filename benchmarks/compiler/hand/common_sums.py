"""Kernels that add the sum of a block to a number in each turn of a loop, or a product to a matrix.

All are as users write them.
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": b}) for b in (256, 128, 64)], key=[])
@triton.jit
def weighted_distance(x_ptr, y_ptr, w_ptr, out_ptr, N, BLOCK: tl.constexpr):
    """The weighted squared distance of each row of x from the same row of y."""
    row = tl.program_id(0)
    acc = 0.0
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < N
        x = tl.load(x_ptr + row * N + at, mask=mask, other=0.0)
        y = tl.load(y_ptr + row * N + at, mask=mask, other=0.0)
        w = tl.load(w_ptr + at, mask=mask, other=0.0)
        acc += tl.sum(w * (x - y) * (x - y), axis=0)
    tl.store(out_ptr + row, acc)


def weighted_distance_arguments(M=64, N=1000):
    return {
        "x_ptr": torch.randn(M, N),
        "y_ptr": torch.randn(M, N),
        "w_ptr": torch.rand(N),
        "out_ptr": torch.empty(M),
        "N": N,
    }


def weighted_distance_grid(meta):
    return (meta["M"],)


def weighted_distance_reference(x_ptr, y_ptr, w_ptr):
    return {"out_ptr": (w_ptr.double() * (x_ptr.double() - y_ptr.double()) ** 2).sum(1)}


@triton.autotune(
    [triton.Config({"ROWS": r, "BLOCK": b}) for r, b in ((4, 64), (8, 32), (4, 128))], key=[]
)
@triton.jit
def gemv_rows(w_ptr, x_ptr, y_ptr, K, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """A matrix times a vector, with a number for each row carried from block to block."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    acc = tl.zeros((ROWS,), tl.float32)
    for start in range(0, K, BLOCK):
        at = start + tl.arange(0, BLOCK)
        w = tl.load(w_ptr + rows[:, None] * K + at[None, :], mask=(at < K)[None, :], other=0.0)
        x = tl.load(x_ptr + at, mask=at < K, other=0.0)
        acc += tl.sum(w * x[None, :], axis=1)
    tl.store(y_ptr + rows, acc)


def gemv_rows_arguments(M=128, K=1000):
    return {"w_ptr": torch.randn(M, K), "x_ptr": torch.randn(K), "y_ptr": torch.empty(M), "K": K}


def gemv_rows_grid(meta):
    return (meta["M"] // meta["ROWS"],)


def gemv_rows_reference(w_ptr, x_ptr):
    return {"y_ptr": w_ptr.double() @ x_ptr.double()}


@triton.autotune([triton.Config({"BLOCK": b}) for b in (128, 256, 64)], key=[])
@triton.jit
def moments_of_rows(x_ptr, mean_ptr, variance_ptr, N, BLOCK: tl.constexpr):
    """The mean and the variance of each row, as a layer norm computes them in one pass."""
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * N + at, mask=at < N, other=0.0)
        total += x
        squares += x * x
    mean = tl.sum(total, axis=0) / N
    tl.store(mean_ptr + row, mean)
    tl.store(variance_ptr + row, tl.sum(squares, axis=0) / N - mean * mean)


def moments_of_rows_arguments(M=64, N=1000):
    x = torch.randn(M, N)
    return {"x_ptr": x, "mean_ptr": torch.empty(M), "variance_ptr": torch.empty(M), "N": N}


def moments_of_rows_grid(meta):
    return (meta["M"],)


def moments_of_rows_reference(x_ptr):
    x = x_ptr.double()
    return {"mean_ptr": x.mean(1), "variance_ptr": x.var(1, correction=0)}


@triton.autotune([triton.Config({"BLOCK": b}) for b in (256, 128, 64)], key=[])
@triton.jit
def errors_of_rows(x_ptr, y_ptr, w_ptr, absolute_ptr, squared_ptr, N, BLOCK: tl.constexpr):
    """The weighted mean absolute and squared error of each row of predictions."""
    row = tl.program_id(0)
    absolute = tl.zeros((BLOCK,), dtype=tl.float32)
    squared = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < N
        error = tl.load(x_ptr + row * N + at, mask=mask, other=0.0)
        error -= tl.load(y_ptr + row * N + at, mask=mask, other=0.0)
        weight = tl.load(w_ptr + at, mask=mask, other=0.0)
        absolute += weight * tl.abs(error)
        squared += weight * error * error
    tl.store(absolute_ptr + row, tl.sum(absolute, axis=0) / N)
    tl.store(squared_ptr + row, tl.sum(squared, axis=0) / N)


def errors_of_rows_arguments(M=64, N=1000):
    return {
        "x_ptr": torch.randn(M, N),
        "y_ptr": torch.randn(M, N),
        "w_ptr": torch.rand(N),
        "absolute_ptr": torch.empty(M),
        "squared_ptr": torch.empty(M),
        "N": N,
    }


def errors_of_rows_grid(meta):
    return (meta["M"],)


def errors_of_rows_reference(x_ptr, y_ptr, w_ptr):
    error, weight = x_ptr.double() - y_ptr.double(), w_ptr.double()
    return {
        "absolute_ptr": (weight * error.abs()).mean(1),
        "squared_ptr": (weight * error**2).mean(1),
    }


@triton.autotune(
    [triton.Config({"BM": m, "BN": n}) for m, n in ((32, 32), (16, 64), (8, 128))], key=[]
)
@triton.jit
def low_rank_residual(
    left_ptr,
    right_ptr,
    x_ptr,
    out_ptr,
    M,
    N,
    R: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
):
    """A matrix and a product of low rank: out = x + left @ right."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    rank, inside = tl.arange(0, R), (column < N)[None, :]
    left_at = left_ptr + row[:, None] * R + rank[None, :]
    left = tl.load(left_at, mask=(row < M)[:, None], other=0.0)
    right = tl.load(right_ptr + rank[:, None] * N + column[None, :], mask=inside, other=0.0)
    at, mask = row[:, None] * N + column[None, :], (row < M)[:, None] & inside
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    tl.store(out_ptr + at, x + tl.dot(left, right), mask=mask)


def low_rank_residual_arguments(M=76, N=640, R=32):
    return {
        "left_ptr": torch.randn(M, R),
        "right_ptr": torch.randn(R, N) / R**0.5,
        "x_ptr": torch.randn(M, N),
        "out_ptr": torch.empty(M, N),
        "M": M,
        "N": N,
        "R": R,
    }


def low_rank_residual_grid(meta):
    return (triton.cdiv(meta["M"], meta["BM"]), triton.cdiv(meta["N"], meta["BN"]))


def low_rank_residual_reference(left_ptr, right_ptr, x_ptr):
    return {"out_ptr": x_ptr + left_ptr @ right_ptr}
