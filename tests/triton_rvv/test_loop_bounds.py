"""Loops over bounds without a sign, and over bounds at the end of what a type holds."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from qemu_kernels import Expected, KernelRunner


@triton.jit
def range_kernel(out_ptr, low, high, turns, STEP: tl.constexpr):
    count, last = 0, low
    for number in range(low, high, STEP):
        for _ in range(turns):
            count += 1
        last = number
    tl.store(out_ptr, tl.cast(count, tl.int64))
    tl.store(out_ptr + 1, tl.cast(last, tl.int64))


BOUNDS = [
    (np.uint32, 2**31 - 2, 2**31 + 3, 1),
    (np.uint32, 2**32 - 5, 2**32 - 1, 3),
    (np.uint32, 5, 2**31 + 5, 2**30),
    (np.uint32, 2**31 + 5, 5, 1),
    (np.int32, 2**31 - 4, 2**31 - 1, 2),
    (np.int32, -4, 3, 2),
    (np.int32, 7, -3, -3),
    (np.int64, -(2**40), -(2**40) + 5, 2),
    (np.uint64, 2**63 - 2, 2**63 + 3, 2),
]


@pytest.mark.parametrize(("kind", "low", "high", "step"), BOUNDS)
def test_bounds(run: KernelRunner, kind: type, low: int, high: int, step: int) -> None:
    numbers = range(low, high, step)
    out = [3 * len(numbers), numbers[-1] if numbers else low]
    expected = Expected(np.array([number % 2**64 for number in out], np.uint64).astype(np.int64))
    run(range_kernel, out_ptr=expected, low=kind(low), high=kind(high), turns=3, STEP=step)
