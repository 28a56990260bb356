"""Kernels of a captured program whose autotuners list a configuration that only seems right."""

import triton
import triton.language as tl

TWO = [triton.Config({"FAST": fast}) for fast in (0, 1)]


@triton.autotune(TWO, key=[])
@triton.jit
def clobbering_kernel(x, y, FAST: tl.constexpr, BLOCK: tl.constexpr = 64):
    """Leaves its result in its input as well."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    result = 2 * tl.load(x + at)
    if FAST:
        tl.store(x + at, result)
    tl.store(y + at, result)


@triton.autotune(TWO, key=[])
@triton.jit
def counting_kernel(x, y, FAST: tl.constexpr, BLOCK: tl.constexpr = 64):
    """A sum without an atomic operation, beside a counter with one."""
    part = tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    tl.atomic_add(y + 1, 1.0)
    if FAST:
        tl.store(y, tl.load(y) + part)
    else:
        tl.atomic_add(y, part)


@triton.autotune(TWO, key=[])
@triton.jit
def shortened_kernel(x, y, FAST: tl.constexpr, BLOCK: tl.constexpr = 64):
    """Leaves out the last program's work."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    last = FAST and tl.program_id(0) == tl.num_programs(0) - 1
    tl.store(y + at, 2 * tl.load(x + at), mask=at < (0 if last else 1 << 30))
