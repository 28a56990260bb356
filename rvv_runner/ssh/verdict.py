"""Turns a job's report into a measurement: what went wrong, and whose fault it was."""

from __future__ import annotations

import signal
from collections.abc import Mapping

from launchers.output import ExitStatus, parse_launcher_output
from rvv_runner.board import BoardInfo
from rvv_runner.conditions import describe_conditions
from rvv_runner.measurement import Measurement, Status
from rvv_runner.ssh.report import JobReport

__all__ = ["failed", "judge"]

# Signals that a program brings upon itself; any other was sent from outside, as when the board's
# memory runs out.
_OWN_SIGNALS = {
    signal.SIGILL,
    signal.SIGSEGV,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGTRAP,
    signal.SIGABRT,
    signal.SIGSYS,
}
_SHELL_SIGNAL_BASE = 128  # a shell's status of a command that a signal ended is this and the signal


def judge(
    report: JobReport, info: BoardInfo, timeout_s: float, counters: Mapping[str, float]
) -> Measurement:
    """The measurement that a job amounts to.

    Args:
        report: of a job that ran.
        info: the board it ran on.
        timeout_s: the limit that was asked for.
        counters: of one run of the grid.
    """
    launcher = parse_launcher_output(report.stdout)
    if report.out_of_time:
        return _out_of_time(report, info, timeout_s)
    assert report.status is not None
    refused = report.status in (ExitStatus.USAGE, ExitStatus.WRONG_MACHINE)
    if launcher.kernel is None or refused:
        return failed("board", info, _last_line(report))
    if report.status == ExitStatus.WRONG_OUTPUT and launcher.output_ok is False:
        return failed("wrong", info, launcher.mismatch, launcher.max_abs_error)
    if report.status == ExitStatus.ASSERTION:
        return failed("runtime", info, _last_line(report))
    if report.status != ExitStatus.OK or not launcher.output_ok or not launcher.times_s:
        return _crashed(report.status, info)
    if report.left_behind:
        reason = f"it left {report.left_behind} processes running, which were ended"
        return failed("runtime", info, reason)
    return Measurement(
        status="correct",
        times_s=launcher.times_s,
        counters=counters,
        board=info.name,
        max_abs_error=launcher.max_abs_error,
        conditions=describe_conditions(report.conditions),
    )


def failed(
    status: Status, info: BoardInfo, reason: str, max_abs_error: float | None = None
) -> Measurement:
    """A measurement without a time."""
    return Measurement(status=status, reason=reason, board=info.name, max_abs_error=max_abs_error)


def _out_of_time(report: JobReport, info: BoardInfo, timeout_s: float) -> Measurement:
    if report.limit_s is not None and report.limit_s < timeout_s:
        reason = (
            f"the board was taken by another job for {report.waited_s:.1f} s, "
            f"and the {report.limit_s} s that were left were not enough"
        )
        return failed("board", info, reason)
    return failed("timeout", info, f"it did not finish within {timeout_s:g} s")


def _crashed(status: int, info: BoardInfo) -> Measurement:
    number = status - _SHELL_SIGNAL_BASE
    if number not in set(signal.Signals):
        return failed("runtime", info, f"it ended with status {status}")
    cause = signal.Signals(number)
    if cause == signal.SIGXFSZ:
        return failed("runtime", info, "it printed more than 1 MiB")
    if cause in _OWN_SIGNALS:
        return failed("runtime", info, f"it was ended by {cause.name}")
    return failed("board", info, f"the program was ended from outside, by {cause.name}")


def _last_line(report: JobReport) -> str:
    lines = report.stderr.strip().splitlines()
    return lines[-1] if lines else f"the program ended with status {report.status} and no message"
