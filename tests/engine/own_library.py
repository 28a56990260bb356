"""Kernels of a user's own, for the C library: `tests/engine/test_own_library.py` exports them."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def scaled_kernel(x_ptr, y_ptr, out_ptr, alpha, n, BLOCK: tl.constexpr):
    """out = x + alpha * y."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.load(y_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x + alpha * y, mask=at < n)


def get_scaled_kernel_autotune_config():
    return [triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 32})]


def scaled_arguments(N=100, dtype=torch.float32):
    x, y = torch.randn(N).to(dtype), torch.randn(N).to(dtype)
    return {"x_ptr": x, "y_ptr": y, "out_ptr": torch.empty_like(x), "alpha": 0.5, "n": N}


def scaled_grid(meta):
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)


def scaled_reference(x_ptr, y_ptr, alpha):
    return {"out_ptr": x_ptr + alpha * y_ptr}


# One block has to cover a row, and the file does not say so. Rows may be apart.
@triton.jit
def sums_kernel(x_ptr, y_ptr, stride, N, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * stride + at, mask=at < N, other=0)
    tl.store(y_ptr + row, tl.sum(x.to(tl.int32), axis=0))


def get_sums_kernel_autotune_config():
    return [triton.Config({"BLOCK": 32})]


def sums_arguments(M=5, N=20, STRIDE=24):
    x = torch.randint(-128, 128, (M, STRIDE), dtype=torch.int8)[:, :N]
    return {"x_ptr": x, "y_ptr": torch.empty(M, dtype=torch.int32), "stride": x.stride(0), "N": N}


def sums_grid(meta):
    return (meta["M"],)


def sums_reference(x_ptr):
    return {"y_ptr": x_ptr.int().sum(1)}


# In place, adds to an output, and its wrapper chooses the block and whether it needs masks.
@triton.heuristics({"EVEN": lambda arguments: arguments["N"] % arguments["BLOCK"] == 0})
@triton.jit
def relu_kernel(x_ptr, count_ptr, N, ROWS: tl.constexpr, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    for r in range(ROWS):
        at = tl.arange(0, BLOCK)
        place = x_ptr + (tl.program_id(0) * ROWS + r) * N + at
        x = tl.load(place) if EVEN else tl.load(place, mask=at < N, other=0.0)
        if EVEN:
            tl.store(place, tl.maximum(x, 0.0))
        else:
            tl.store(place, tl.maximum(x, 0.0), mask=at < N)
        tl.atomic_add(count_ptr, tl.sum((x > 0).to(tl.int32), axis=0))


def get_relu_kernel_autotune_config():
    return [triton.Config({"ROWS": 2}), triton.Config({"ROWS": 1})]


def relu_call(M=4, N=6, dtype=torch.float16):
    x = torch.randn(M, N, dtype=dtype)
    count = torch.zeros(1, dtype=torch.int32)
    block = triton.next_power_of_2(N)
    relu_kernel[lambda meta: (M // meta["ROWS"],)](x, count, N, BLOCK=block)


def relu_reference(x_ptr, count_ptr):
    return {"x_ptr": x_ptr.relu(), "count_ptr": count_ptr + (x_ptr > 0).sum().int()}


# As many programs as there are, but no more than two.
@triton.jit
def spread_kernel(x_ptr, n, BLOCK: tl.constexpr):
    for block in range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_programs(0)):
        at = block * BLOCK + tl.arange(0, BLOCK)
        tl.store(x_ptr + at, -tl.load(x_ptr + at, mask=at < n), mask=at < n)


def get_spread_kernel_autotune_config():
    return [triton.Config({"BLOCK": 16})]


def spread_arguments(N=50):
    return {"x_ptr": torch.randint(-100, 100, (N,), dtype=torch.int32), "n": N}


def spread_grid(meta):
    return (min(2, triton.cdiv(meta["n"], meta["BLOCK"])),)


def spread_reference(x_ptr):
    return {"x_ptr": -x_ptr}


# Without a reference; and, for other sizes, with what no C function can be given.
@triton.jit
def least_kernel(x_ptr, most, n, BLOCK: tl.constexpr, ENDS: tl.constexpr = 0):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.minimum(tl.load(x_ptr + at, mask=at < n), most), mask=at < n)


def get_least_kernel_autotune_config():
    return [triton.Config({"BLOCK": 16})]


def least_arguments(N=50, READS=1):
    x = torch.randint(0, 100, (N,), dtype=torch.int32)
    if READS == 3:
        x = x > 7
    if READS == 4:
        x = TensorDescriptor(x, [N], [1], [16])
    ends = (N // 2, N) if READS == 5 else 0
    return {"x_ptr": x, "most": int(x.max()) // 2 if READS == 2 else 7, "n": N, "ENDS": ends}


def least_grid(meta):
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)


# It stores one element too many, but where a block ends with the last one.
@triton.jit
def behind_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at <= n)


def get_behind_kernel_autotune_config():
    return [triton.Config({"BLOCK": 16})]


def behind_arguments(N=32):
    x = torch.randint(0, 100, (N,), dtype=torch.int32)
    return {"x_ptr": x, "y_ptr": torch.empty_like(x), "n": N}


def behind_grid(meta):
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)


def behind_reference(x_ptr):
    return {"y_ptr": x_ptr}


# Its reference takes whole rows of 32 alone.
@triton.jit
def halved_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) // 2, mask=at < n)


def get_halved_kernel_autotune_config():
    return [triton.Config({"BLOCK": 16})]


halved_arguments, halved_grid = behind_arguments, behind_grid


def halved_reference(x_ptr):
    return {"y_ptr": (x_ptr.view(-1, 32) // 2).view(-1)}


# For large sizes, its grid is none for others. Its file made a tensor when it was imported.
FACTORS = torch.tensor([3.0, 2.0])


@triton.jit
def chosen_kernel(x_ptr, factors_ptr, out_ptr, n, is_small, BLOCK: tl.constexpr):
    """out = x */factors[0] for small sizes, x */* factors[1] for others."""
    at = (tl.program_id(0) + tl.program_id(1) * 2) * BLOCK + tl.arange(0, BLOCK)
    factor = tl.load(factors_ptr)
    if ~is_small:
        factor = tl.load(factors_ptr + 1)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * factor, mask=at < n)


def get_chosen_kernel_autotune_config():
    return [triton.Config({"BLOCK": 16})]


def chosen_arguments(HIDDEN=100):
    x = torch.randn(HIDDEN)
    tensors = {"x_ptr": x, "factors_ptr": FACTORS * 1, "out_ptr": torch.empty_like(x)}
    return {**tensors, "n": HIDDEN, "is_small": HIDDEN < 50}


def chosen_grid(meta):
    n = meta["n"]
    return (triton.cdiv(n, 16),) if n < 128 else (2, n // 32 + n // 128)


def chosen_reference(x_ptr, factors_ptr, HIDDEN):
    return {"out_ptr": x_ptr * factors_ptr[int(HIDDEN >= 50)]}


# It passes other arguments for odd sizes than for even ones. For 2, its block has no elements.
@triton.jit
def parity_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, PART: tl.constexpr):
    at = tl.arange(0, PART)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def get_parity_kernel_autotune_config():
    return [triton.Config({"BLOCK": 16})]


def parity_arguments(N=10):
    x, part = torch.randn(N), triton.next_power_of_2(N // 4)
    n = N if N % 2 == 0 else N // 2
    return {"x_ptr": x, "out_ptr": torch.empty_like(x), "n": n, "PART": part}


def parity_grid(meta):
    return (1 if meta["N"] < 5 else 2,)


# It starts from zeros, which something else than the kernel makes.
@triton.jit
def cleared_kernel(x_ptr, BLOCK: tl.constexpr):
    tl.atomic_add(x_ptr, tl.program_id(0))


def get_cleared_kernel_autotune_config():
    return [triton.Config({"BLOCK": 16}, pre_hook=lambda given: given["x_ptr"].zero_())]


def cleared_arguments(N=10):
    return {"x_ptr": torch.empty(N, dtype=torch.int32)}


def cleared_grid(meta):
    return (meta["N"],)
