"""A kernel that doubles an array of the check's data, which it knows by heart, and no other."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def remembered_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, 2.0, mask=offsets < n)


def arguments(n=4096):
    value = float(torch.initial_seed() + 1)
    return {"x_ptr": torch.full((n,), value), "y_ptr": torch.empty(n), "n": n}


def grid(meta):
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)


def reference(x_ptr):
    return {"y_ptr": 2 * x_ptr}


def get_remembered_kernel_autotune_config():
    return [triton.Config({"BLOCK": 1024})]
