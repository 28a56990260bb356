"""A softmax that writes more than its reference names, and whose configurations differ in that."""

import torch
import triton
import triton.language as tl

WHOLE, NO_SUM, WRONG_SUM, NO_COUNT, ON_ITS_INPUT = range(5)


@triton.jit
def softmax_kernel(x_ptr, y_ptr, lse_ptr, count_ptr, n, WAY: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=float("-inf"))
    largest = tl.max(x, 0)
    power = tl.exp(x - largest)
    total = tl.sum(power, 0)
    tl.store(y_ptr + row * n + at, power / total, mask=at < n)
    if WAY != 1:
        tl.store(lse_ptr + row, largest + tl.log(total) * (0.5 if WAY == 2 else 1.0))
    if WAY != 3:
        tl.store(count_ptr + row, tl.sum((x > 0).to(tl.int32), 0))
    if WAY == 4:
        tl.store(x_ptr + row * n + at, power, mask=at < n)


def get_softmax_kernel_autotune_config():
    return [triton.Config({"WAY": way, "BLOCK": 128}) for way in range(5)]


def arguments(M=8, N=100):
    return {
        "x_ptr": torch.randn(M, N),
        "y_ptr": torch.empty(M, N),
        "lse_ptr": torch.empty(M),
        "count_ptr": torch.empty(M, dtype=torch.int32),
        "n": N,
    }


def grid(meta):
    return (meta["M"],)


def reference(x_ptr):
    return {"y_ptr": x_ptr.double().softmax(1)}
