"""Stores that change the array that they read: copies of what they read only where they meet."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from qemu_kernels import Expected

from triton_rvv import RVVTarget, compile_kernel


@triton.jit
def turns_kernel(x_ptr, y_ptr, distance, first, count, turns, N: tl.constexpr, STEP: tl.constexpr):
    at = tl.arange(0, N)
    mask = (at >= first) & (at < count)
    for turn in range(turns):
        now = x_ptr + (turn + 1) * distance + STEP * at
        before = tl.load(now - distance, mask=mask, other=0)
        tl.store(now, 2 * before + at, mask=mask)
        tl.store(y_ptr + at, before, mask=mask)
        tl.debug_barrier()


@pytest.mark.parametrize("vlen_bits", [128, 256])
@pytest.mark.parametrize(
    ("distance", "first", "count", "step"),
    [
        (256, 0, 256, 1),  # apart
        (90, 0, 90, 1),  # apart, since nothing behind is read or stored
        (90, 0, 91, 1),  # the last one is the first of the next turn
        (90, 1, 91, 1),
        (1, 0, 200, 1),
        (-70, 0, 70, 1),
        (-70, 0, 71, 1),
        (90, 30, 20, 1),  # none
        (200, 3, 100, -1),
        (0, 0, 100, 1),  # in place
    ],
)
def test_turns_in_one_array(run, distance, first, count, step, vlen_bits):
    x = np.random.default_rng(5).integers(0, 100, 2000).astype(np.int32)
    y, at = x.copy(), np.arange(first, max(first, count))
    before = np.zeros(256, np.int32)
    for turn in range(3):
        now = 700 + (turn + 1) * distance + step * at
        before[at] = y[now - distance]
        y[now] = 2 * before[at] + at
    run(
        shifted_kernel, grid=(1,), x_ptr=Expected(y, start=x),
        y_ptr=Expected(before, start=np.zeros(256, np.int32)), distance=distance, first=first,
        count=count, turns=3, N=256, STEP=step, vlen_bits=vlen_bits,
    )  # fmt: skip


@triton.jit
def shifted_kernel(
    x_ptr, y_ptr, distance, first, count, turns, N: tl.constexpr, STEP: tl.constexpr
):
    turns_kernel(x_ptr + 700, y_ptr, distance, first, count, turns, N, STEP)


@pytest.mark.parametrize(("size", "count"), [(256, 1), (8, 0)])
def test_blocks_of_one_vector_are_kept_in_registers(size, count):
    types = dict.fromkeys(["distance", "first", "count", "turns"], "i32")
    target = RVVTarget()
    compiled = compile_kernel(
        turns_kernel, {"x_ptr": "*i32", "y_ptr": "*i32"} | types, {"N": size, "STEP": 1}, target
    )
    assert {each.name: each.count for each in compiled.passes}["find-apart"] == count
