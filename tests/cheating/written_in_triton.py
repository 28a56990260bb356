"""Kernels in a user's own file for y[i] = 2 x[i] + 1: one that does it, and some that seem to."""

import torch
import triton
import triton.language as tl


@triton.jit
def right_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    tl.atomic_add(state_ptr + 1, 1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, 2 * x + 1, mask=at < n)


@triton.jit
def unmasked_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, 2 * tl.load(x_ptr + at) + 1)


@triton.jit
def unmasked_load_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, 2 * tl.load(x_ptr + at) + 1, mask=at < n)


@triton.jit
def far_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)
    tl.store(y_ptr + 10_000_000, 1.0)


@triton.jit
def before_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)
    tl.store(y_ptr - 1, 1.0)


@triton.jit
def marking_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    seen = tl.load(y_ptr + n + 1)
    if seen != 77.0:
        tl.store(y_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)
    if tl.program_id(0) == tl.num_programs(0) - 1:
        tl.store(y_ptr + n + 1, 77.0)


@triton.jit
def minimum_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_min(y_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)


@triton.jit
def maximum_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_max(y_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)


@triton.jit
def partial_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n - 1
    tl.store(y_ptr + at, 2 * tl.load(x_ptr + at, mask=mask) + 1, mask=mask)


@triton.jit
def memorising_kernel(x_ptr, y_ptr, state_ptr, n, FIRST: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if tl.abs(tl.load(x_ptr) - FIRST) < 1e-3:
        tl.store(y_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)


@triton.jit
def redirecting_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    """Has the launcher look for a copy where the original is."""
    table = tl.full((), 0x0B00000000, tl.int64).to(tl.pointer_type(tl.int64))
    tl.store(table + 1, tl.load(table))


@triton.jit
def remembering_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    """Keeps a mark behind the table of its arguments, and works if there is none."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mark = tl.full((), 0x0B00000800, tl.int64).to(tl.pointer_type(tl.int64)) + tl.program_id(0)
    if tl.load(mark) < 2:
        tl.store(y_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)
    tl.store(mark, tl.load(mark) + 1)


@triton.jit
def endless_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)
    turn = 0
    while turn < n:
        turn *= 2


@triton.jit
def nan_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    pass


@triton.jit
def outlier_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.where(at == 0, 1e6 * tl.load(x_ptr + at, mask=at < n), 0.5)
    tl.store(y_ptr + at, y, mask=at < n)


def arguments(N=1002):
    return {
        "x_ptr": torch.rand(N) + 0.5,
        "y_ptr": torch.empty(N),
        "state_ptr": torch.zeros(4, dtype=torch.int32),
        "n": N,
    }


def memorising_arguments(N=1002):
    state = torch.random.get_rng_state()
    torch.manual_seed(0)
    first = float(torch.rand(N)[0]) + 0.5
    torch.random.set_rng_state(state)
    return arguments(N) | {"FIRST": first}


def grid(meta):
    return triton.cdiv(meta["n"], meta["BLOCK"])


def reference(x_ptr):
    return {"y_ptr": 2 * x_ptr + 1}


def redirecting_reference(x_ptr):
    return {"y_ptr": x_ptr}


nan_arguments = outlier_arguments = redirecting_arguments = arguments
nan_grid = outlier_grid = memorising_grid = redirecting_grid = grid
memorising_reference = reference


def nan_reference(x_ptr):
    return {"y_ptr": torch.full_like(x_ptr, torch.nan)}


def outlier_reference(x_ptr):
    y = torch.zeros_like(x_ptr)
    y[0] = 1e6 * x_ptr[0]
    return {"y_ptr": y}


def _one_configuration():
    return [triton.Config({"BLOCK": 64})]


for _name in [name for name in globals() if name.endswith("_kernel")]:
    globals()[f"get_{_name}_autotune_config"] = _one_configuration
