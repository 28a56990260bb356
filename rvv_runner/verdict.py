"""What went wrong in a run of the launcher, and whose fault it was."""

from __future__ import annotations

import signal

from launchers.output import ExitStatus, LauncherReport
from rvv_runner.board import BoardInfo
from rvv_runner.measurement import Measurement, Status
from rvv_runner.process import OUTPUT_LIMIT_BYTES, BoundedResult

__all__ = ["failed", "fault"]

# Signals that a program brings upon itself, with which an emulator then ends as well. Any other was
# sent from outside, as when the machine runs out of memory.
_OWN_SIGNALS = {
    signal.SIGILL,
    signal.SIGSEGV,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGTRAP,
    signal.SIGABRT,
    signal.SIGSYS,
}


def fault(
    result: BoundedResult, launcher: LauncherReport, info: BoardInfo, timeout_s: float, runner: str
) -> Measurement | None:
    """The measurement of a run that did not pass, None for one whose outputs were right.

    Args:
        result: how the run ended.
        launcher: what it printed.
        info: the board it ran on.
        timeout_s: the limit it ran under.
        runner: what ran, for messages.
    """
    refused = result.returncode in (ExitStatus.USAGE, ExitStatus.WRONG_MACHINE)
    if result.timed_out:
        return failed("timeout", info, f"it did not finish within {timeout_s:g} s")
    if result.flooded:
        return failed("runtime", info, f"it printed more than {OUTPUT_LIMIT_BYTES >> 20} MiB")
    if launcher.kernel is None or refused:
        return failed("board", info, _last_line(result, runner))
    if result.returncode == ExitStatus.OK and launcher.output_ok:
        return None
    if result.returncode == ExitStatus.WRONG_OUTPUT and launcher.output_ok is False:
        return failed("wrong", info, launcher.mismatch, launcher.max_abs_error)
    if result.returncode == ExitStatus.ASSERTION:
        return failed("runtime", info, _last_line(result, runner))
    return _crashed(result.returncode, info, runner)


def failed(
    status: Status, info: BoardInfo, reason: str, max_abs_error: float | None = None
) -> Measurement:
    """A measurement without a time."""
    return Measurement(
        status=status,
        reason=reason,
        board=info.name,
        estimated=info.estimated,
        max_abs_error=max_abs_error,
    )


def _crashed(returncode: int, info: BoardInfo, runner: str) -> Measurement:
    if returncode >= 0:
        return failed("runtime", info, f"it ended with status {returncode}")
    cause = signal.Signals(-returncode)
    if cause in _OWN_SIGNALS:
        return failed("runtime", info, f"it was ended by {cause.name}")
    return failed("board", info, f"{runner} was ended by {cause.name}")


def _last_line(result: BoundedResult, runner: str) -> str:
    lines = result.stderr.strip().splitlines()
    return lines[-1] if lines else f"{runner} ended with status {result.returncode} and no message"
