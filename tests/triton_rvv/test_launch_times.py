"""The first launch of a captured kernel on this machine is timed without what comes before it."""

from __future__ import annotations

from triton_rvv.launches.timing import Timer, first_launch
from triton_rvv.runtime.kernel_clock import OF_THREAD


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
