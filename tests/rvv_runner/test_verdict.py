"""The verdict on a run of the launcher: one for all boards, over how the program ended."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any

import pytest

from rvv_runner.board import BoardInfo
from rvv_runner.ssh.report import JobReport, parse_job_report
from rvv_runner.ssh.verdict import measurement_of
from rvv_runner.verdict import Ending, judge

LIMIT_S = 2.0
KEY = "key: abcdefghijklmnop\n"
STARTED = "kernel: scale\nvlen_bits: 256\n" + KEY
RIGHT = STARTED + KEY + "out OK max_abs_error=0\n"
REORDERED = STARTED + "order: shuffled\norder: reversed\n"
TIME = "kernel_time_s: 0.000001000\n"
WRONG = (
    STARTED
    + KEY
    + "out NOT OK max_abs_error=1 argument=v index=1 got=3 expected=2 off=1/9 run=check\n"
)
OUTSIDE = STARTED + KEY + "out of bounds argument=v index=9 elements=9 found={}\n"
KILLED = -signal.SIGKILL


@pytest.mark.parametrize(
    ("ending", "status", "reason"),
    [
        (Ending(0, RIGHT + TIME, ""), "correct", ""),
        (Ending(0, RIGHT, ""), "board", "its outputs were correct, but it printed no time"),
        (
            Ending(0, RIGHT + TIME + TIME, ""),
            "board",
            "it printed 2 times, where 1 were asked for",
        ),
        (
            Ending(0, STARTED + KEY + "out OK max_abs_error=inf\n" + TIME, ""),
            "board",
            "its outputs were correct, and yet off by inf",
        ),
        (
            Ending(0, RIGHT + "kernel_time_s: 0.000000000\n", ""),
            "board",
            "its clock gave a time of 0 s",
        ),
        (
            Ending(0, RIGHT + f"kernel_time_s: {'9' * 400}.000000000\n", ""),
            "board",
            "its clock gave a time of inf s",
        ),
        (
            Ending(0, STARTED + KEY + "out OK max_abs_error=none\n" + TIME, ""),
            "board",
            "the launcher's report cannot be read: could not convert string to float: 'none'",
        ),
        (Ending(0, STARTED + TIME, ""), "runtime", "it ended with status 0"),
        (Ending(1, WRONG, ""), "wrong", "v[1] is 3 and should be 2; 1 of 9 is wrong"),
        (
            Ending(1, OUTSIDE.format("write"), ""),
            "wrong",
            "it wrote v[9], and v has 9 elements: out of bounds",
        ),
        (
            Ending(6, OUTSIDE.format("fault"), ""),
            "runtime",
            "it touched v[9], and v has 9 elements: out of bounds",
        ),
        (Ending(6, STARTED, ""), "runtime", "it ended with status 6"),
        # A kernel may end the program with any status; what was printed must agree with it.
        (Ending(0, WRONG + TIME, ""), "runtime", "it ended with status 0"),
        (Ending(1, RIGHT + TIME, ""), "runtime", "it ended with status 1"),
        (Ending(1, STARTED, ""), "runtime", "it ended with status 1"),
        (Ending(2, RIGHT, "first\nno such option\n"), "board", "no such option"),
        (Ending(3, STARTED, ""), "board", "the program ended with status 3 and no message"),
        (Ending(4, STARTED, "k.py:3: assertion failed\n"), "runtime", "k.py:3: assertion failed"),
        (Ending(-signal.SIGSEGV, STARTED, ""), "runtime", "it was ended by SIGSEGV"),
        (
            Ending(-signal.SIGILL, STARTED, ""),
            "runtime",
            "it was ended by SIGILL: the core lacks an instruction, perhaps of an extension: see "
            "rvv-tune boards check",
        ),
        (
            Ending(-signal.SIGTERM, STARTED, ""),
            "board",
            "the program was ended from outside, by SIGTERM",
        ),
        (Ending(-35, STARTED, ""), "board", "the program was ended from outside, by signal 35"),
        (Ending(-9, "", ""), "board", "the program was ended by SIGKILL without a message"),
        (
            Ending(-signal.SIGILL, "", "qemu: uncaught target signal 4 - core dumped\n"),
            "board",
            "the program was ended by SIGILL before its kernel began: the core lacks an "
            "instruction, perhaps of an extension: see rvv-tune boards check",
        ),
        (
            Ending(KILLED, "", "", timed_out=True),
            "timeout",
            "it did not finish within 2 s",
        ),
        (
            Ending(KILLED, REORDERED, "", timed_out=True),
            "timeout",
            "it did not finish within 2 s with its programs in another order, after it did in "
            "theirs: one may not wait for another",
        ),
        (
            Ending(KILLED, "", "", timed_out=True, cpu_s=0.5),
            "timeout",
            "it did not finish within 2 s",
        ),
        (
            Ending(KILLED, "", "", timed_out=True, cpu_s=0.3),
            "board",
            "in 2 s, it got a processor for 0.3 s only",
        ),
        (Ending(KILLED, STARTED, "", flooded=True), "runtime", "it printed more than 1 MiB"),
        (
            Ending(KILLED, "garbage", "", flooded=True),
            "board",
            "the program printed more than 1 MiB and no report",
        ),
        (
            Ending(0, RIGHT + TIME, "", left_behind=2),
            "runtime",
            "it left 2 processes running, which were ended",
        ),
    ],
)
def test_each_ending_has_its_status_and_reason(ending: Ending, status: str, reason: str) -> None:
    verdict = judge(ending, LIMIT_S, repeats=1)
    assert (verdict.status, verdict.reason) == (status, reason)


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ({"vlen_bits": 512}, "what ran was built for vectors of 256 bits, not 512"),
        ({"kernel": "matmul"}, "what ran was the kernel scale, not matmul"),
    ],
)
@pytest.mark.parametrize("ending", [Ending(0, RIGHT + TIME, ""), Ending(1, WRONG, "")])
def test_a_report_of_another_build_is_the_boards_fault(
    ending: Ending, wanted: Mapping[str, Any], reason: str
) -> None:
    verdict = judge(ending, LIMIT_S, 1, **wanted)
    assert (verdict.status, verdict.reason) == ("board", reason)
    assert judge(ending, LIMIT_S, 1, vlen_bits=256, kernel="scale").status != "board"


def test_a_run_that_only_checks_needs_no_time() -> None:
    verdict = judge(Ending(0, RIGHT, ""), LIMIT_S, repeats=0)
    assert (verdict.status, verdict.launcher.times_s) == ("correct", ())


def test_the_runner_is_named_where_it_is_to_blame() -> None:
    ended = judge(Ending(KILLED, STARTED, ""), LIMIT_S, 1, "QEMU")
    assert ended.reason == "QEMU was ended from outside, by SIGKILL"
    silent = judge(Ending(1, "", ""), LIMIT_S, 1, "QEMU")
    assert silent.reason == "QEMU ended with status 1 and no message"


INFO = BoardInfo("laptop", "x60", "spacemit-x60", 256, 8, 1.6e9)


@pytest.mark.parametrize(
    ("shell_status", "status", "reason"),
    [
        (128 + signal.SIGSEGV, "runtime", "it was ended by SIGSEGV"),
        (128 + signal.SIGXFSZ, "runtime", "it printed more than 1 MiB"),
        (255, "runtime", "it ended with status 255"),
    ],
)
def test_a_shell_tells_of_signals_by_large_statuses(
    shell_status: int, status: str, reason: str
) -> None:
    report = JobReport("done", limit_s=2, status=shell_status, stdout=STARTED)
    measurement = measurement_of(report, INFO, LIMIT_S, 1, {}, "scale")
    assert (measurement.status, measurement.reason) == (status, reason)


def test_a_folder_that_runs_no_programs_is_the_boards_fault() -> None:
    said = "timeout: failed to run command './a.elf': Permission denied\n"
    report = JobReport("done", limit_s=2, status=126, stderr=said)
    measurement = measurement_of(report, INFO, LIMIT_S, 1, {}, "scale")
    assert measurement.status == "board"
    assert "name another as `folder` in its board file" in measurement.reason


def test_a_job_report_without_a_part_is_refused_in_a_sentence() -> None:
    text = "\n--7 head\nwaited 0\nlimit 2\n\n--7 out\n\n--7 end done"
    with pytest.raises(ValueError, match="the job's report lacks facts"):
        parse_job_report(text, "7")
