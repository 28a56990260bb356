"""Whose fault a run was: the kernel's or the board's, by how the run ended and what it printed."""

from __future__ import annotations

import signal

import pytest

from launchers.output import ExitStatus, LauncherReport
from rvv_runner.devices import load_board
from rvv_runner.process import BoundedResult
from rvv_runner.verdict import fault

WRONG = LauncherReport("k", 256, output_ok=False, max_abs_error=2.0, mismatch="c[1] is 3")
RIGHT = LauncherReport("k", 256, output_ok=True, max_abs_error=0.0)
BEGUN = LauncherReport("k", 256)


def verdict(result: BoundedResult, launcher: LauncherReport) -> tuple[str, str] | None:
    measurement = fault(result, launcher, load_board("emulated").info, 1.5, "qemu")
    if measurement is None:
        return None
    assert (measurement.board, measurement.estimated) == ("emulated:x60", True)
    assert measurement.times_s == ()
    return measurement.status, measurement.reason


def ended(returncode: int, stderr: str = "", **how: bool) -> BoundedResult:
    return BoundedResult(returncode, "", stderr, **how)


@pytest.mark.parametrize(
    ("result", "launcher", "expected"),
    [
        (ended(ExitStatus.OK), RIGHT, None),
        (ended(-9, timed_out=True), RIGHT, ("timeout", "it did not finish within 1.5 s")),
        (ended(-9, flooded=True), RIGHT, ("runtime", "it printed more than 1 MiB")),
        (ended(ExitStatus.WRONG_OUTPUT), WRONG, ("wrong", "c[1] is 3")),
        # A kernel may end the program with any status; what was printed has to agree.
        (ended(ExitStatus.OK), WRONG, ("runtime", "it ended with status 0")),
        (ended(ExitStatus.OK), BEGUN, ("runtime", "it ended with status 0")),
        (ended(ExitStatus.WRONG_OUTPUT), RIGHT, ("runtime", "it ended with status 1")),
        (ended(ExitStatus.WRONG_OUTPUT), BEGUN, ("runtime", "it ended with status 1")),
        (ended(ExitStatus.ASSERTION, "a\nk.py:3: failed"), BEGUN, ("runtime", "k.py:3: failed")),
        (ended(ExitStatus.USAGE, "truncated\n"), BEGUN, ("board", "truncated")),
        (ended(ExitStatus.WRONG_MACHINE, "128 bits"), BEGUN, ("board", "128 bits")),
        (ended(1), LauncherReport(), ("board", "qemu ended with status 1 and no message")),
        (ended(-signal.SIGILL), BEGUN, ("runtime", "it was ended by SIGILL")),
        (ended(-signal.SIGSYS), BEGUN, ("runtime", "it was ended by SIGSYS")),
        (ended(-signal.SIGKILL), BEGUN, ("board", "qemu was ended by SIGKILL")),
        (ended(-signal.SIGTERM), BEGUN, ("board", "qemu was ended by SIGTERM")),
    ],
)
def test_a_run_has_the_status_of_who_is_to_blame(
    result: BoundedResult, launcher: LauncherReport, expected: tuple[str, str] | None
) -> None:
    assert verdict(result, launcher) == expected


def test_a_wrong_output_keeps_its_error_and_others_have_none() -> None:
    info = load_board("emulated").info
    wrong = fault(ended(ExitStatus.WRONG_OUTPUT), WRONG, info, 1.0, "qemu")
    late = fault(ended(-9, timed_out=True), WRONG, info, 1.0, "qemu")
    assert wrong is not None
    assert late is not None
    assert (wrong.max_abs_error, late.max_abs_error) == (2.0, None)
