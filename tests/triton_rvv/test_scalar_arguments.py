"""Arguments of a kernel that are no arrays: truth values, wide integers, None and tuples."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from qemu_kernels import Expected

import triton_rvv


@triton.jit
def scalars_kernel(out_ptr, flag, wide, unsigned, largest, N: tl.constexpr):
    at = tl.arange(0, N)
    if flag:
        tl.store(out_ptr + at, wide)
    else:
        tl.store(out_ptr + at, unsigned.to(tl.int64, bitcast=True))
    tl.store(out_ptr + N + at, tl.where(flag & (at > 2), largest.to(tl.int64), at))


@pytest.mark.parametrize("flag", [True, False])
def test_by_the_launcher(run, flag):
    wide, unsigned, largest = np.int64(-(2**40)), np.uint64(2**64 - 5), np.uint32(2**32 - 1)
    first = np.full(8, wide if flag else -5, np.int64)
    second = np.where(flag & (np.arange(8) > 2), np.int64(largest), np.arange(8))
    out = Expected(np.concatenate([first, second]))
    numbers = {"wide": wide, "unsigned": unsigned, "largest": largest}
    run(scalars_kernel, out_ptr=out, flag=flag, **numbers, N=8)


@triton.jit
def nested_kernel(out_ptr, flag, nothing, pair):
    count = pair[0] + pair[1][0]
    if flag:
        count += 10
    if nothing is None:
        count += 100
    tl.store(out_ptr, count)


@pytest.mark.parametrize("target", ["host", "rvv256"])
def test_from_python(target):
    driver = triton.runtime.driver
    before = driver._active
    triton_rvv.activate(target)
    try:
        for flag in (True, False, np.bool_(True)):
            out = np.zeros(1, np.int32)
            nested_kernel[(1,)](out, flag, None, (4, (5,)))
            assert out[0] == 109 + 10 * bool(flag)
    finally:
        driver._active = before
