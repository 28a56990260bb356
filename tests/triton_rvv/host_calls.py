"""Kernels for the tests that call kernels in this process."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def axpy_kernel(x_ptr, y_ptr, out_ptr, n, a, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    total = a * tl.load(x_ptr + at, mask=mask) + tl.load(y_ptr + at, mask=mask)
    tl.store(out_ptr + at, total, mask=mask)


@triton.jit
def count_kernel(out_ptr):
    """Adds one to the element that belongs to a program."""
    row = tl.program_id(2) * tl.num_programs(1) + tl.program_id(1)
    place = out_ptr + row * tl.num_programs(0) + tl.program_id(0)
    tl.store(place, tl.load(place) + 1)
