"""Which part of a program its Triton kernels are, and what that makes of their speed-up."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from captured_programs import captured
from small_captures import add_to

from engine.programs.captured import summary
from engine.programs.program_share import ProgramShare, WholeProgram, program_share
from engine.programs.watched import host_target
from kernels.captured.task_file import append_record, read_capture
from triton_rvv.launches import steady_time
from triton_rvv.launches.steady_time import SteadyTime

SHARE = ProgramShare(3.0, 4.0, 10.0, ("add_kernel", 3.0), "host", is_bound=False)
# An import, an autotuner and a compiler that are slow, and a loop that takes a tenth of a second.
SLOW = """
import torch._dynamo.callback as dynamo
time.sleep(0.7)
def slowly(call, **_):
    time.sleep(0.5)
    call()
    return 1.0

tuned = triton.autotune([triton.Config({"BLOCK": b}) for b in (32, 64)], [], do_bench=slowly)(
    add_kernel)
add(x, x)
with dynamo.callback_handler.install_callbacks(dynamo.CallbackTrigger.DYNAMO, "0"):
    time.sleep(0.7)
for _ in range(5):
    tuned[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, x, torch.empty_like(x), 1000)
    time.sleep(0.02)
"""


@pytest.fixture
def clock(monkeypatch, tmp_path):
    """A clock that stands still but for its `append`."""
    now = [100.0]
    monkeypatch.setattr(steady_time, "_SCHEDULED", tmp_path / "schedstat")
    monkeypatch.setattr(time, "perf_counter", lambda: now[-1])
    return now


def test_what_is_done_once_does_not_count(clock):
    steady = SteadyTime()
    clock.append(110.0)
    assert steady.seconds == 0.0
    with steady.once():
        steady.launched()
        clock.append(120.0)
        with steady.once():
            clock.append(130.0)
        assert steady.seconds == 0.0
    clock.append(131.0)
    assert steady.seconds == 1.0
    for chooses in (True, False):
        with steady.perhaps_once() as choosing:
            clock.append(clock[-1] + 2.0)
            if chooses:
                with steady.once():
                    choosing()
                    clock.append(clock[-1] + 5.0)
    assert steady.seconds == 3.0
    steady.after_fork()
    assert steady.seconds == 0.0


def test_waiting_for_a_processor_does_not_count(clock, tmp_path):
    steady = SteadyTime()
    (tmp_path / "schedstat").write_text("5 1000000000 3\n")
    steady.launched()
    clock.append(110.0)
    (tmp_path / "schedstat").write_text("6 4000000000 9\n")
    assert steady.seconds == pytest.approx(7.0)


def test_a_program_beside_others_takes_as_long_as_alone():
    """Two that compute on one core, of which each waits for half of the time."""
    code = (
        "import os, sys, time\n"
        "from triton_rvv.launches.steady_time import SteadyTime\n"
        "os.sched_setaffinity(0, {int(sys.argv[1])})\n"
        "steady = SteadyTime()\n"
        "steady.launched()\n"
        "end = time.perf_counter() + 1\n"
        "while time.perf_counter() < end: 0\n"
        "print(steady.seconds)\n"
    )
    core = str(max(os.sched_getaffinity(0)))
    pair = [
        subprocess.Popen([sys.executable, "-c", code, core], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    seconds = [float(each.communicate()[0]) for each in pair]
    assert min(seconds) < 0.8


def test_an_autotuner_before_the_first_launch(clock):
    steady = SteadyTime()
    with steady.perhaps_once() as choosing:
        choosing()
        clock.append(110.0)
        steady.launched()
        clock.append(111.0)
    clock.append(113.0)
    assert steady.seconds == 2.0


def test_a_capture_tells_the_loop_from_start_compiling_and_autotuning(tmp_path, capsys):
    share = program_share(captured(tmp_path, SLOW))
    assert share.ran_s > 2.5
    assert 0.1 < share.steady_s < 0.6
    assert 0 < share.steady < 0.2
    assert "the program took" in capsys.readouterr().err


def test_a_program_whose_kernels_do_not_compile_is_told_of_gpus_too(capture, tmp_path):
    failed = replace(read_capture(capture.path), unrecorded={"k": "CompilationError: at 3:4"})
    said = summary(failed, 1, tmp_path)
    assert "k was not recorded: CompilationError" in said
    assert ("is_cuda" in said) == (host_target() is not None)
    assert "is_cuda" not in summary(replace(failed, running=("k",)), 1, tmp_path)


def test_the_last_count_of_each_process_counts(capture, tmp_path):
    add_to(capture, launches=10, time_s=0.25)
    read = read_capture(capture.path)
    assert program_share(read) is None  # of an earlier version
    assert len(summary(read, 0, tmp_path).splitlines()) == 1
    for process, time_s in (("1", 1.0), ("2", 2.0), ("1", 3.0)):
        append_record(capture.path, {"record": "steady", "process": process, "time_s": time_s})
    append_record(capture.path, {"record": "ran", "time_s": 25.0})
    text = " ".join(summary(read_capture(capture.path), 0, tmp_path).splitlines()[1:])
    assert " ".join(text.split()) == (
        "without start, compiling and autotuning, the program took 5 s, 50% of it in these kernels "
        "on the processor, so tuning can make it at most 2.00 times as fast; they took 10% of the "
        "whole 25 s"
    )


def test_a_speed_up_of_kernels_is_less_for_the_program():
    alike = WholeProgram(SHARE, "host", is_alike=True)
    assert alike.speedup(3.0) == 2.0
    assert math.isclose(alike.speedup(math.inf), 4.0)
    assert "2.00x, an estimate, since these kernels were 75% of its time" in alike.text(3.0)


def test_on_another_board_it_is_not_known():
    other = WholeProgram(SHARE, "emulated:x60", is_alike=False)
    assert other.speedup(3.0) is None
    assert "is not known on emulated:x60: on the processor it was 75%" in other.text(3.0)
