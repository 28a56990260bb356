"""Turns a job's report into a measurement."""

from __future__ import annotations

import signal
from collections.abc import Mapping

from rvv_runner.board import BoardInfo
from rvv_runner.board_queue import Turn
from rvv_runner.conditions import describe_conditions, hot, used_cpu_s
from rvv_runner.failure import failed, failed_run
from rvv_runner.measurement import Measurement
from rvv_runner.ssh.cache import CANNOT_RUN, NO_PROGRAM_RUNS
from rvv_runner.ssh.report import JobReport
from rvv_runner.verdict import Ending, judge

__all__ = ["measurement_of"]

_SHELL_SIGNAL_BASE = 128  # if a signal ends a command, a shell reports this plus the signal


def measurement_of(
    report: JobReport,
    info: BoardInfo,
    timeout_s: float,
    repeats: int,
    counters: Mapping[str, float],
    kernel: str | None,
    cool_below_c: float | None = None,
) -> Measurement:
    """The measurement from a job's report.

    Args:
        report: of a job that ran.
        info: the board it ran on.
        timeout_s: the requested time limit.
        repeats: number of timed runs requested.
        counters: of one run of the grid.
        kernel: the name of the kernel that was to run; None for any.
        cool_below_c: above which it is noted that the board was hot; None for any temperature.
    """
    if report.out_of_time and report.limit_s is not None and report.limit_s < timeout_s:
        reason = (
            f"another job used the board for {report.waited_s:.1f} s, "
            f"and the remaining {report.limit_s} s were not enough"
        )
        return failed("board", info, reason)
    if report.status == CANNOT_RUN and "Permission denied" in report.stderr:
        return failed("board", info, NO_PROGRAM_RUNS)
    verdict = judge(_ending(report), timeout_s, repeats, vlen_bits=info.vlen_bits, kernel=kernel)
    return failed_run(verdict, info) or Measurement(
        status="correct",
        times_s=verdict.launcher.times_s,
        counters=counters,
        board=info.name,
        max_abs_error=verdict.launcher.max_abs_error,
        max_share=verdict.launcher.max_share,
        conditions={
            **hot(describe_conditions(report.conditions), cool_below_c),
            **Turn(report.waited_s, report.queue).conditions,
            **({"cooled_down_s": report.cooled_s} if report.cooled_s >= 1 else {}),
        },
    )


def _ending(report: JobReport) -> Ending:
    """How the program of a job ended; the size of a file limits its output."""
    returncode = -signal.SIGKILL if report.status is None else report.status
    if returncode - _SHELL_SIGNAL_BASE in set(signal.Signals):
        returncode = _SHELL_SIGNAL_BASE - returncode
    return Ending(
        returncode,
        report.stdout,
        report.stderr,
        timed_out=report.out_of_time,
        cpu_s=used_cpu_s(report.conditions),
        flooded=returncode == -signal.SIGXFSZ,
        left_behind=report.left_behind,
    )
