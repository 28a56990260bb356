"""Side effects of kernels in this process: atomics over threads, assertions, printing."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

import triton_rvv
from triton_rvv.runtime import host_launch
from triton_rvv.runtime.workers import run_on_workers


@pytest.fixture(autouse=True, scope="module")
def _four_threads(on_host):
    triton_rvv.set_num_threads(4)


@triton.jit
def count_kernel(counts_ptr, sums_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    for _ in range(n):
        tl.atomic_add(counts_ptr + offsets % 7, 1)
        tl.atomic_add(sums_ptr + offsets % 4, 1.0)
        tl.atomic_add(sums_ptr + offsets % 4, -1.0)
    tl.atomic_add(sums_ptr, 1.0)
    tl.atomic_max(counts_ptr + 7, tl.program_id(0))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_no_update_is_lost(dtype):
    # Sums stay below 256, where every type is exact.
    programs, turns = 64, 3000
    counts, sums = torch.zeros(8, dtype=torch.int32), torch.zeros(4, dtype=dtype)
    count_kernel[(programs,)](counts, sums, turns, N=16)
    total = programs * turns
    assert counts.tolist() == [3 * total] * 2 + [2 * total] * 5 + [programs - 1]
    assert sums.tolist() == [programs, 0, 0, 0]


@triton.jit
def lock_kernel(lock_ptr, count_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(count_ptr, tl.load(count_ptr) + 1)
    tl.atomic_xchg(lock_ptr, 0)


def test_a_lock_keeps_programs_apart():
    lock, count = torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    lock_kernel[(5000,)](lock, count)
    assert count.item() == 5000


@triton.jit
def meet_kernel(count_ptr, n):
    tl.atomic_add(count_ptr, 1)
    while tl.atomic_add(count_ptr, 0) < n:
        pass


def test_programs_that_wait_for_each_other_run_at_once_however_short(monkeypatch):
    shares: list[int] = []

    def noted(work: Callable[[Any], None], argument: Any, at_most: int) -> float:
        shares.append(at_most)
        run_on_workers(work, argument, at_most)
        return 0.0  # as if no time had passed

    monkeypatch.setattr(host_launch, "run_on_workers", noted)
    for _ in range(3):
        count = torch.zeros(1, dtype=torch.int32)
        meet_kernel[(2,)](count, 2)
        assert count.item() == 2
    assert shares == [2, 2, 2]


@triton.jit(debug=True)
def assert_kernel(x_ptr, y_ptr, N: tl.constexpr):
    offsets = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    tl.device_assert(x < 100, "x is small")
    tl.store(y_ptr + offsets, x)


def test_a_failed_assertion_raises():
    x, y = torch.arange(128), torch.full((128,), -1)
    message = r"test_host_effects\.py:\d+: device-side assertion failed: x is small in program \(1"
    with pytest.raises(RuntimeError, match=message):  # as on Triton's other targets
        assert_kernel[(2,)](x, y, N=64)
    assert y.tolist() == [*range(64), *[-1] * 64]
    assert_kernel[(1,)](x, y, N=64)


@triton.jit
def sum_kernel(x_ptr, y_ptr):
    tl.store(y_ptr, tl.load(x_ptr) + tl.load(y_ptr))


def test_one_launch_can_be_in_debug_mode():
    x, y = torch.tensor([2**31 - 1], dtype=torch.int32), torch.tensor([1], dtype=torch.int32)
    with pytest.raises(triton_rvv.DeviceAssertionError, match="int32 overflow detected"):
        sum_kernel[(1,)](x, y, debug=True)
    sum_kernel[(1,)](x, y, debug=True, sanitize_overflow=False)
    sum_kernel[(1,)](x, y)
    assert y.item() == -1


@triton.jit
def print_kernel(x_ptr):
    tl.device_print("x", tl.load(x_ptr + tl.arange(0, 2)))


def test_printing(capfd, monkeypatch):
    with os.fdopen(os.dup(1), "w") as buffered:
        monkeypatch.setattr(sys, "stdout", buffered)
        print("before")
        print_kernel[(2,)](torch.tensor([0.5, -4.0]))
        print("after")
    first, *lines, last = capfd.readouterr().out.splitlines()
    assert (first, last) == ("before", "after")
    lines.sort()
    values = ["0.500000", "-4.000000"]
    assert lines == [
        f"pid ({pid}, 0, 0) idx ({place}) x: {values[place]}"
        for pid in range(2)
        for place in range(2)
    ]
