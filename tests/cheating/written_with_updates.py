"""An addition and norm that updates its residual in place and sums up in memory of its own; its
reference names neither."""

import torch
import triton
import triton.language as tl

WHOLE, TWICE, OTHER_SUMS = range(3)


@triton.jit
def add_norm_kernel(x_ptr, res_ptr, sum_ptr, y_ptr, n, WAY: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0)
    x += tl.load(res_ptr + row * n + at, mask=at < n, other=0.0)
    tl.store(res_ptr + row * n + at, x * (2 if WAY == 1 else 1), mask=at < n)
    scale = 2.0 if WAY == 2 else 1.0
    tl.atomic_add(sum_ptr + row, tl.sum(x * x, 0) * scale)
    mean = tl.load(sum_ptr + row) / scale / n
    tl.store(y_ptr + row * n + at, x / tl.sqrt(mean + 1e-5), mask=at < n)


def get_add_norm_kernel_autotune_config():
    return [triton.Config({"WAY": way, "BLOCK": 128}) for way in range(3)]


def arguments(M=16, N=100):
    return {
        "x_ptr": torch.randn(M, N),
        "res_ptr": torch.randn(M, N),
        "sum_ptr": torch.zeros(M),
        "y_ptr": torch.empty(M, N),
        "n": N,
    }


def grid(meta):
    return (meta["M"],)


def reference(x_ptr, res_ptr):
    total = x_ptr + res_ptr
    return {"y_ptr": total / torch.sqrt((total * total).mean(1, keepdim=True) + 1e-5)}
