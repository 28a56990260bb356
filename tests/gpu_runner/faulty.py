"""A kernel that doubles an array, or fails in the way that its configuration names."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

WAYS = ("right", "wrong", "unfinished", "far", "beside", "hangs")


@triton.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, WAY: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    if WAY == "far":
        # Nothing lies there.
        x = tl.load(x_ptr + (offsets.to(tl.int64) + 1) * 34359738368, mask=inside, other=0.0)
    else:
        x = tl.load(x_ptr + offsets, mask=inside, other=0.0)
    if WAY == "hangs":
        x_0 = tl.load(x_ptr, volatile=True)
        while x_0 > -1.0e30:
            x_0 = tl.load(x_ptr, volatile=True)
    if WAY == "wrong":
        x = 1.5 * x
    if WAY == "unfinished":
        inside = inside & (offsets < n // 2)
    if WAY == "beside":
        inside = offsets < n + BLOCK
    tl.store(y_ptr + offsets, 2 * x, mask=inside)


def arguments(n=100_000):
    return {"x_ptr": torch.arange(n, dtype=torch.float32), "y_ptr": torch.empty(n), "n": n}


def grid(meta):
    programs = triton.cdiv(meta["n"], meta["BLOCK"])
    return (programs + 1 if meta["WAY"] == "beside" else programs,)


def reference(x_ptr):
    return {"y_ptr": 2 * x_ptr}


def get_double_kernel_autotune_config():
    return [triton.Config({"BLOCK": 1024, "WAY": way}) for way in WAYS]
