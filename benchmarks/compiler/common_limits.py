"""Kernels that compare bytes with numbers that are known at run time, as users write them."""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256)], key=[])
@triton.jit
def in_range(x_ptr, y_ptr, N, low, high, BLOCK: tl.constexpr):
    """Pixels between two limits, as 255 and 0."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    x = tl.load(x_ptr + at, mask=mask, other=0).to(tl.int32)
    inside = (x >= low) & (x <= high)
    tl.store(y_ptr + at, tl.where(inside, 255, 0).to(tl.uint8), mask=mask)


def in_range_arguments(N=30000, low=40, high=180):
    x = torch.randint(0, 256, (N,), dtype=torch.uint8)
    return {"x_ptr": x, "y_ptr": torch.empty_like(x), "N": N, "low": low, "high": high}


def in_range_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def in_range_reference(x_ptr, low, high):
    return {"y_ptr": ((x_ptr >= low) & (x_ptr <= high)).to(torch.uint8) * 255}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (128, 256)], key=[])
@triton.jit
def edges(x_ptr, y_ptr, H, W, limit, BLOCK: tl.constexpr):
    """Where a row's brightness changes by more than a limit, from pixel to pixel."""
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = (at < W - 2) & (row < H)
    left = tl.load(x_ptr + row * W + at, mask=mask, other=0).to(tl.int32)
    mid = tl.load(x_ptr + row * W + at + 1, mask=mask, other=0).to(tl.int32)
    right = tl.load(x_ptr + row * W + at + 2, mask=mask, other=0).to(tl.int32)
    change = tl.abs(left - right) + tl.abs(2 * mid - left - right)
    tl.store(y_ptr + row * (W - 2) + at, (change > limit).to(tl.uint8), mask=mask)


def edges_arguments(H=60, W=322, limit=150):
    x = torch.randint(0, 256, (H, W), dtype=torch.uint8)
    y = torch.empty(H, W - 2, dtype=torch.uint8)
    return {"x_ptr": x, "y_ptr": y, "H": H, "W": W, "limit": limit}


def edges_grid(meta):
    return (meta["H"], triton.cdiv(meta["W"] - 2, meta["BLOCK"]))


def edges_reference(x_ptr, limit):
    x = x_ptr.int()
    left, mid, right = x[:, :-2], x[:, 1:-1], x[:, 2:]
    change = (left - right).abs() + (2 * mid - left - right).abs()
    return {"y_ptr": (change > limit).to(torch.uint8)}
