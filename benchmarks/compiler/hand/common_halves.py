"""Kernels that load the halves of even places alone, to see whether `load-every-other` pays.

Both are as users write them; nothing was tuned on them.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (128, 64, 256)], key=[])
@triton.jit
def upfirdn_rows(x_ptr, y_ptr, H, W, f0, f1, f2, f3, BLOCK: tl.constexpr):
    """StyleGAN's upsampling of rows: zeros between the pixels, and a filter of four taps."""
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for tap in tl.static_range(4):
        place = at + tap - 2
        is_pixel = (place >= 0) & (place < 2 * W) & (place % 2 == 0)
        x = tl.load(x_ptr + row * W + place // 2, mask=is_pixel, other=0.0)
        if tap == 0:
            total += x * f0
        elif tap == 1:
            total += x * f1
        elif tap == 2:
            total += x * f2
        else:
            total += x * f3
    tl.store(y_ptr + row * 2 * W + at, total, mask=at < 2 * W)


def upfirdn_rows_arguments(H=48, W=150):
    return {
        "x_ptr": torch.randn(H, W),
        "y_ptr": torch.empty(H, 2 * W),
        "H": H,
        "W": W,
        "f0": 0.25,
        "f1": 0.75,
        "f2": 0.75,
        "f3": 0.25,
    }


def upfirdn_rows_grid(meta):
    return (meta["H"], triton.cdiv(2 * meta["W"], meta["BLOCK"]))


def upfirdn_rows_reference(x_ptr, f0, f1, f2, f3):
    height, width = x_ptr.shape
    stuffed = torch.zeros(height, 2 * width + 3, dtype=torch.float64)
    stuffed[:, 2:-1:2] = x_ptr
    taps = (f0, f1, f2, f3)
    return {"y_ptr": sum(f * stuffed[:, i : i + 2 * width] for i, f in enumerate(taps))}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256, 4096)], key=[])
@triton.jit
def insert_zeros(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    """Samples of sound at twice the rate, before a low-pass filter."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + (at >> 1), mask=((at & 1) == 0) & (at < N), other=0)
    tl.store(y_ptr + at, x, mask=at < N)


def insert_zeros_arguments(N=40000):
    return {
        "x_ptr": torch.randint(-(1 << 15), 1 << 15, (N // 2,), dtype=torch.int16),
        "y_ptr": torch.empty(N, dtype=torch.int16),
        "N": N,
    }


def insert_zeros_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def insert_zeros_reference(x_ptr):
    return {"y_ptr": torch.stack([x_ptr, torch.zeros_like(x_ptr)], dim=1).reshape(-1)}
