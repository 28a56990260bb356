"""Kernels on this machine are timed without their launch, and without what other programs take."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
import triton
import triton.language as tl

from triton_rvv.launches.timing import Timer, first_launch
from triton_rvv.runtime import kernel_clock
from triton_rvv.runtime.kernel_clock import OF_THREAD, TimedKernel


def test_a_thread_that_others_hold_up_takes_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    processor_s = iter([0.0, 2.0, 5.0, 8.0])
    clock = SimpleNamespace(thread_time=lambda: next(processor_s))
    monkeypatch.setattr(kernel_clock, "time", clock)
    timed = TimedKernel(SimpleNamespace(run_programs=lambda call: None))
    for _ in range(2):  # threads, one of which took more of three chunks
        timed.run_programs(b"")
    assert timed.alone_s(3) == pytest.approx(5.0 * 2 / 3)


@triton.jit
def count_programs(out_ptr):
    tl.atomic_add(out_ptr, 1)


@pytest.mark.usefixtures("on_host")
def test_each_program_of_a_timed_kernel_runs_once() -> None:
    out = torch.zeros(1, dtype=torch.int32)
    kernel_clock.begin()
    count_programs[(101,)](out)
    assert (kernel_clock.end() or 0.0) > 0.0
    assert out.item() == 101


def test_the_first_launch_takes_as_long_as_its_kernel() -> None:
    timer = Timer("host")
    with first_launch(timer, is_compiled=False) as marks:
        assert OF_THREAD.spent_s is not None
        OF_THREAD.spent_s += 0.25  # of a launch that was compiled for seconds
        OF_THREAD.runs += 1
    assert marks == [0.0, 0.25]
    assert OF_THREAD.spent_s is None
    timer.first((marks[0], marks[1]))
    assert timer.summed(0) == {"launches": 1, "timed": 1, "time_s": 0.25}


def test_a_first_launch_without_a_kernel_has_no_time() -> None:
    with first_launch(Timer("host"), is_compiled=False) as marks:
        pass
    assert marks == []
