"""32-bit sums that wrap, which the short ways for addresses and masks must not hide."""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl
from qemu_kernels import Expected, KernelRunner


@triton.jit
def scramble_kernel(output_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(output_ptr + offsets, (offsets * 1103515245 + 12345).to(tl.int64))


def test_a_sum_that_wraps_is_widened_after_it_wrapped(run: KernelRunner) -> None:
    with np.errstate(over="ignore"):
        wrapped = np.arange(64, dtype=np.int32) * np.int32(1103515245) + np.int32(12345)
    report = run(scramble_kernel, output_ptr=Expected(wrapped.astype(np.int64)), BLOCK=64)
    assert report.output_ok, report.mismatch


@triton.jit
def below_kernel(output_ptr, base, limit, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(output_ptr + offsets, tl.where(base + offsets < limit, 1, 0))


def test_a_mask_near_the_largest_integer_is_compared_lane_by_lane(run: KernelRunner) -> None:
    base, limit = 2**31 - 100, 2**31 - 50
    sums = (base + np.arange(256)).astype(np.uint32).view(np.int32)
    expected = Expected((sums < limit).astype(np.int32))
    report = run(below_kernel, output_ptr=expected, base=base, limit=limit, BLOCK=256)
    assert report.output_ok, report.mismatch
