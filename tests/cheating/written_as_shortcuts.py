"""Kernels in a user's own file that take a shortcut where FAST is set: right once, or for what the
file's own inputs happen to be."""

import torch
import triton
import triton.language as tl


@triton.jit
def counter_kernel(x_ptr, y_ptr, part_ptr, count_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """The last program that comes adds up; the counter has to be zero for the next launch."""
    at = tl.arange(0, BLOCK)
    program, programs = tl.program_id(0), tl.num_programs(0)
    tl.store(part_ptr + program, tl.sum(tl.load(x_ptr + program * BLOCK + at), 0))
    if tl.atomic_add(count_ptr, 1) == programs - 1:
        parts = tl.load(part_ptr + at, mask=at < programs, other=0.0)
        tl.store(y_ptr, tl.sum(parts, 0))
        if not FAST:
            tl.store(count_ptr, 0)


@triton.jit
def skipped_kernel(x_ptr, w_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Leaves out the blocks whose weights are zeros, by the first of them."""
    start = tl.program_id(0) * BLOCK
    at = start + tl.arange(0, BLOCK)
    some = tl.load(w_ptr + start) != 0 if FAST else True
    y = tl.zeros((BLOCK,), tl.float32)
    if some:
        y = tl.load(w_ptr + at) * tl.sigmoid(tl.load(x_ptr + at))
    tl.store(y_ptr + at, y)


@triton.jit
def unit_kernel(x_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Rows by their norm, or by a least one that only small rows need; there is no reference."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    norm = tl.sqrt(tl.sum(x * x, 0))
    tl.store(y_ptr + at, x / (norm + 1e-6 if FAST else tl.maximum(norm, 1e-12)))


@triton.jit
def factor_kernel(x_ptr, y_ptr, factor, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Leaves out a factor that is 1, in each configuration."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at))


@triton.jit
def strided_kernel(x_ptr, y_ptr, step, seed, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Takes rows for ones that lie one after another, and makes no use of a seed at all."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(y_ptr + row * BLOCK + at, tl.load(x_ptr + row * (BLOCK if FAST else step) + at))


@triton.jit
def planes_kernel(x_ptr, y_ptr, C, PITCH, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Needs no number of planes, since each has programs of its own; nor a pitch, wrongly."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at))


@triton.jit
def square_kernel(x_ptr, y_ptr, M, N, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Sums rows, which are as long as there are rows."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * (M if FAST else N) + at, mask=at < N, other=0.0)
    tl.store(y_ptr + row, tl.sum(x, 0))


def square_arguments(M=60, N=60):
    return {"x_ptr": torch.randn(M, N), "y_ptr": torch.empty(M), "M": M, "N": N}


def square_grid(meta):
    return (meta["M"],)


def square_reference(x_ptr):
    return {"y_ptr": x_ptr.double().sum(1)}


@triton.jit
def turned_kernel(x_ptr, y_ptr, shift, N, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Turns rows by a number of places, or by a literal that is as large."""
    column = tl.arange(0, BLOCK)
    if FAST:
        shift = 5 + shift * 0
    x = tl.load(x_ptr + tl.program_id(0) * N + (column + N - shift) % N)
    tl.store(y_ptr + tl.program_id(0) * N + column, x, mask=column < N)


def turned_arguments(M=16, N=64):
    return {"x_ptr": torch.randn(M, N), "y_ptr": torch.empty(M, N), "shift": 5, "N": N}


def turned_grid(meta):
    return (meta["M"],)


def turned_reference(x_ptr, shift):
    return {"y_ptr": x_ptr.roll(shift, 1)}


@triton.jit
def whole_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    """Takes whole blocks alone."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, 2.0 * tl.load(x_ptr + at))


def whole_arguments(N=1024):
    return {"x_ptr": torch.randn(N), "y_ptr": torch.empty(N)}


def whole_grid(meta):
    return (meta["N"] // meta["BLOCK"],)


def whole_reference(x_ptr):
    return {"y_ptr": 2.0 * x_ptr}


def get_whole_kernel_autotune_config(N=1024):
    return [triton.Config({"BLOCK": block}) for block in (16, 64) if N % block == 0]


def strided_arguments(N=128):
    x = torch.randn(N // 64, 64)
    return {"x_ptr": x, "y_ptr": torch.empty(N // 64, 64), "step": x.stride(0), "seed": 7}


def planes_arguments(C=2, PITCH=64):
    planes = torch.randn(C, 64)
    return {"x_ptr": planes, "y_ptr": torch.empty(C, 64), "C": C, "PITCH": PITCH}


def planes_grid(meta):
    return (meta["C"] * 64 // meta["BLOCK"],)


def planes_reference(x_ptr):
    return {"y_ptr": x_ptr}


def factor_arguments(N=128):
    return {"x_ptr": torch.randn(N), "y_ptr": torch.empty(N), "factor": 1.0}


def unit_arguments(N=1024):
    return {"x_ptr": torch.randn(N // 64, 64), "y_ptr": torch.empty(N // 64, 64)}


def counter_arguments(N=512):
    return {
        "x_ptr": torch.randn(N),
        "y_ptr": torch.empty(1),
        "part_ptr": torch.empty(64),
        "count_ptr": torch.zeros(1, dtype=torch.int32),
    }


def skipped_arguments(N=1024):
    whole = (torch.rand(N // 64, 1) < 0.5).float() * torch.rand(N // 64, 64)
    return {"x_ptr": torch.randn(N), "w_ptr": whole.flatten(), "y_ptr": torch.empty(N)}


def grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def counter_reference(x_ptr):
    return {"y_ptr": x_ptr.double().sum().reshape(1)}


def factor_reference(x_ptr, factor):
    return {"y_ptr": factor * x_ptr}


def strided_reference(x_ptr):
    return {"y_ptr": x_ptr}


def skipped_reference(x_ptr, w_ptr):
    return {"y_ptr": w_ptr * x_ptr.sigmoid()}


def _two_configurations():
    return [triton.Config({"FAST": fast, "BLOCK": 64}) for fast in (0, 1)]


for _name in ("counter", "skipped", "unit", "factor", "strided", "planes", "square", "turned"):
    globals()[f"get_{_name}_kernel_autotune_config"] = _two_configurations
    globals().setdefault(f"{_name}_grid", grid)
