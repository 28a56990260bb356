"""The verdict on a run of the launcher, and whose fault a failure is: the same on every board.

Boards that are reached by hand use this file too, so it must run on Python 3.8.
"""

from __future__ import annotations

import math
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

from launchers.output import ExitStatus, LauncherReport, parse_launcher_output

if TYPE_CHECKING:
    from rvv_runner.measurement import Status

__all__ = [
    "OUTPUT_LIMIT_BYTES",
    "Ending",
    "Verdict",
    "judge",
    "longest_s",
    "signal_name",
    "was_starved",
]

# The share of its time limit for which a program that ran out of time must have had a processor.
# With less, the machine was too busy, or stood still. The limit is ten times what the default
# configuration takes, so a program that had this much is slower than that.
_LEAST_SHARE = 0.2

# Code for a board may use what its description says that it has.
_ILLEGAL = "the core lacks an instruction, perhaps of an extension: see rvv-tune boards check"

# The most that a launcher may print.
OUTPUT_LIMIT_BYTES = 1 << 20

# Signals that a program causes itself; an emulator then ends with the same signal. Any other was
# sent from outside, for example because the machine ran out of memory.
_OWN_SIGNALS = frozenset(
    (
        signal.SIGILL,
        signal.SIGSEGV,
        signal.SIGBUS,
        signal.SIGFPE,
        signal.SIGTRAP,
        signal.SIGABRT,
        signal.SIGSYS,
    )
)


@dataclass(frozen=True)
class Ending:
    """How a program ended, on any board.

    Args:
        returncode: its exit status, or minus the signal that ended it.
        stdout, stderr: its outputs, up to the limit.
        timed_out: whether it was killed because its time was up.
        cpu_s: processor time that it used; None if that is not known.
        flooded: whether it was killed because it printed more than the limit.
        left_behind: number of processes that it left running, which were ended.
    """

    returncode: int
    stdout: str
    stderr: str
    timed_out: bool = False
    cpu_s: float | None = None
    flooded: bool = False
    left_behind: int = 0


@dataclass(frozen=True)
class Verdict:
    """The outcome of a run.

    Args:
        status: "correct" only if the outputs were checked and every time is valid.
        reason: one sentence, unless the status is "correct".
        launcher: the launcher's report.
    """

    status: Status
    reason: str
    launcher: LauncherReport


def judge(
    run: Ending,
    limit_s: float,
    repeats: int,
    runner: str = "the program",
    vlen_bits: int | None = None,
    kernel: str | None = None,
) -> Verdict:
    """The verdict on a run of the launcher; it never raises, even if the output is garbage.

    Args:
        run: how it ended.
        limit_s: its time limit.
        repeats: number of timed runs requested; with 0, the outputs are only checked.
        runner: the program that ran, for messages.
        vlen_bits: vector length of the build that was to run; None for any.
        kernel: the name of its kernel; None for any.
    """
    try:
        launcher = parse_launcher_output(run.stdout)
    except ValueError as error:
        launcher, unreadable = LauncherReport(), f"the launcher's report cannot be read: {error}"
    else:
        unreadable = ""
    stopped = _stopped(run, limit_s, runner, launcher)
    if stopped is not None:
        return Verdict(*stopped, launcher)
    if unreadable:
        return Verdict("board", unreadable, launcher)
    if another := _another_build(launcher, vlen_bits, kernel):
        return Verdict("board", another, launcher)
    return Verdict(*_ended(run, launcher, repeats, runner), launcher)


def was_starved(cpu_s: float, limit_s: float) -> bool:
    """Whether what ran out of time had a processor for too little of it to be blamed."""
    return cpu_s < _LEAST_SHARE * limit_s


def longest_s(limit_s: float) -> float:
    """How long by the clock a program may take to use its limit in processor time, if it is to be
    blamed for that."""
    return limit_s / _LEAST_SHARE


def _another_build(launcher: LauncherReport, vlen_bits: int | None, kernel: str | None) -> str:
    """What shows that something else ran than was to run, or ""."""
    if None not in (kernel, launcher.kernel) and kernel != launcher.kernel:
        return f"what ran was the kernel {launcher.kernel}, not {kernel}"
    if None not in (vlen_bits, launcher.vlen_bits) and vlen_bits != launcher.vlen_bits:
        return f"what ran was built for vectors of {launcher.vlen_bits} bits, not {vlen_bits}"
    return ""


def _stopped(
    run: Ending, limit_s: float, runner: str, launcher: LauncherReport
) -> tuple[Status, str] | None:
    """Status and reason of a run that exceeded a limit."""
    if run.timed_out and run.cpu_s is not None and was_starved(run.cpu_s, limit_s):
        return "board", f"in {limit_s:g} s, it got a processor for {run.cpu_s:.1f} s only"
    if run.timed_out and launcher.order:
        return "timeout", (
            f"it did not finish within {limit_s:g} s with its programs in another order, after it "
            "did in theirs: one may not wait for another"
        )
    if run.timed_out:
        return "timeout", f"it did not finish within {limit_s:g} s"
    if run.flooded and launcher.kernel is None:  # before the kernel could print anything
        return "board", f"{runner} printed more than {OUTPUT_LIMIT_BYTES >> 20} MiB and no report"
    if run.flooded:
        return "runtime", f"it printed more than {OUTPUT_LIMIT_BYTES >> 20} MiB"
    return None


def _ended(run: Ending, launcher: LauncherReport, repeats: int, runner: str) -> tuple[Status, str]:
    """Status and reason of a run that ended within its limits."""
    if launcher.kernel is None or run.returncode in (ExitStatus.USAGE, ExitStatus.WRONG_MACHINE):
        return "board", _last_line(run, runner)
    if run.returncode == ExitStatus.WRONG_OUTPUT and launcher.output_ok is False:
        return "wrong", launcher.out_of_bounds or launcher.mismatch
    if run.returncode == ExitStatus.OUT_OF_BOUNDS and launcher.out_of_bounds:
        return "runtime", launcher.out_of_bounds
    if run.returncode in (ExitStatus.ASSERTION, ExitStatus.MEMORY, ExitStatus.HELPERS):
        return "runtime", _last_line(run, runner)
    if run.returncode != ExitStatus.OK or not launcher.output_ok:
        return _crashed(run.returncode, runner)
    if run.left_behind:
        return "runtime", f"it left {run.left_behind} processes running, which were ended"
    return _timed(launcher, repeats)


def _timed(launcher: LauncherReport, repeats: int) -> tuple[Status, str]:
    """Status and reason of a run whose outputs were correct."""
    times_s, error = launcher.times_s, launcher.max_abs_error
    if error is None or not math.isfinite(error):
        return "board", f"its outputs were correct, and yet off by {error}"
    if repeats and not times_s:
        return "board", "its outputs were correct, but it printed no time"
    if len(times_s) != repeats:
        return "board", f"it printed {len(times_s)} times, where {repeats} were asked for"
    for time_s in times_s:
        if not 0 < time_s < math.inf:
            return "board", f"its clock gave a time of {time_s:g} s"
    return "correct", ""


def _crashed(returncode: int, runner: str) -> tuple[Status, str]:
    if returncode >= 0:
        return "runtime", f"it ended with status {returncode}"
    name = signal_name(-returncode)
    if -returncode == signal.SIGILL:
        return "runtime", f"it was ended by {name}: {_ILLEGAL}"
    if -returncode in _OWN_SIGNALS:
        return "runtime", f"it was ended by {name}"
    return "board", f"{runner} was ended from outside, by {name}"


def signal_name(number: int) -> str:
    """The name of a signal, such as "SIGILL"."""
    try:
        return signal.Signals(number).name
    except ValueError:  # most real-time signals have no name
        return f"signal {number}"


def _last_line(run: Ending, runner: str) -> str:
    if -run.returncode == signal.SIGILL:  # of which QEMU prints a line that names nothing
        return f"{runner} was ended by SIGILL before its kernel began: {_ILLEGAL}"
    lines = run.stderr.strip().splitlines()
    if lines:
        return lines[-1]
    if run.returncode < 0:
        return f"{runner} was ended by {signal_name(-run.returncode)} without a message"
    return f"{runner} ended with status {run.returncode} and no message"
