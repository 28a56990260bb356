"""Turns a job's report into a measurement."""

from __future__ import annotations

import signal
from collections.abc import Mapping

from rvv_runner.board import BoardInfo
from rvv_runner.conditions import describe_conditions
from rvv_runner.failure import failed, failed_run
from rvv_runner.measurement import Measurement
from rvv_runner.ssh.report import JobReport
from rvv_runner.verdict import Ending, judge

__all__ = ["measurement_of"]

_SHELL_SIGNAL_BASE = 128  # a shell's status of a command that a signal ended is this and the signal


def measurement_of(
    report: JobReport,
    info: BoardInfo,
    timeout_s: float,
    repeats: int,
    counters: Mapping[str, float],
) -> Measurement:
    """The measurement that a job amounts to.

    Args:
        report: of a job that ran.
        info: the board it ran on.
        timeout_s: the limit that was asked for.
        repeats: timed runs that were asked for.
        counters: of one run of the grid.
    """
    if report.out_of_time and report.limit_s is not None and report.limit_s < timeout_s:
        reason = (
            f"the board was taken by another job for {report.waited_s:.1f} s, "
            f"and the {report.limit_s} s that were left were not enough"
        )
        return failed("board", info, reason)
    verdict = judge(_ending(report), timeout_s, repeats)
    return failed_run(verdict, info) or Measurement(
        status="correct",
        times_s=verdict.launcher.times_s,
        counters=counters,
        board=info.name,
        max_abs_error=verdict.launcher.max_abs_error,
        conditions=describe_conditions(report.conditions),
    )


def _ending(report: JobReport) -> Ending:
    """How the program of a job ended; its output is limited by the size of a file."""
    returncode = -signal.SIGKILL if report.status is None else report.status
    if returncode - _SHELL_SIGNAL_BASE in set(signal.Signals):
        returncode = _SHELL_SIGNAL_BASE - returncode
    return Ending(
        returncode,
        report.stdout,
        report.stderr,
        timed_out=report.out_of_time,
        flooded=returncode == -signal.SIGXFSZ,
        left_behind=report.left_behind,
    )
