"""Turns a run in QEMU into a measurement: what went wrong, and whose fault it was."""

from __future__ import annotations

import signal

from launchers.output import ExitStatus, LauncherReport, parse_launcher_output
from rvv_runner.board import BoardInfo
from rvv_runner.emulated.counters import Region, parse_report
from rvv_runner.emulated.run import OUTPUT_LIMIT_BYTES, QemuRun
from rvv_runner.measurement import Measurement, Status

__all__ = ["failed", "judge"]

# Signals that a program brings upon itself, with which QEMU then ends as well. Any other was sent
# from outside, as when the machine runs out of memory.
_OWN_SIGNALS = {
    signal.SIGILL,
    signal.SIGSEGV,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGTRAP,
    signal.SIGABRT,
    signal.SIGSYS,
}


def judge(run: QemuRun, info: BoardInfo, timeout_s: float) -> Measurement:
    """The measurement that a run of the launcher in QEMU amounts to.

    Args:
        run: how it went.
        info: the board it ran on.
        timeout_s: the limit it ran under.
    """
    result = run.result
    launcher = parse_launcher_output(result.stdout)
    refused = result.returncode in (ExitStatus.USAGE, ExitStatus.WRONG_MACHINE)
    if result.timed_out:
        return failed("timeout", info, f"it did not finish within {timeout_s:g} s")
    if result.flooded:
        return failed("runtime", info, f"it printed more than {OUTPUT_LIMIT_BYTES >> 20} MiB")
    if launcher.kernel is None or refused:
        return failed("board", info, _last_line(result.stderr, result.returncode))
    if result.returncode == ExitStatus.OK and launcher.output_ok:
        return _correct(run.report, launcher, info)
    if result.returncode == ExitStatus.WRONG_OUTPUT and launcher.output_ok is False:
        return failed("wrong", info, launcher.mismatch, launcher.max_abs_error)
    return _crashed(result.returncode, info)


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


def _crashed(returncode: int, info: BoardInfo) -> Measurement:
    if returncode >= 0:
        return failed("runtime", info, f"it ended with status {returncode}")
    cause = signal.Signals(-returncode)
    if cause in _OWN_SIGNALS:
        return failed("runtime", info, f"it was ended by {cause.name}")
    return failed("board", info, f"QEMU was ended by {cause.name}")


def _last_line(stderr: str, returncode: int) -> str:
    lines = stderr.strip().splitlines()
    return lines[-1] if lines else f"QEMU ended with status {returncode} and no message"


def _correct(report: str | None, launcher: LauncherReport, info: BoardInfo) -> Measurement:
    try:
        regions = parse_report(report or "")
    except ValueError:
        return failed("board", info, "the plug-in left no report")
    if len(regions) != 1 or regions[0].cycles <= 0:
        return failed("board", info, f"the plug-in saw {len(regions)} timed runs instead of one")
    region = regions[0]
    if "unknown_vector_type" in region.unresolved:
        return failed("board", info, _unknown_type(region))
    return Measurement(
        status="correct",
        times_s=(region.cycles / info.frequency_hz,),
        counters={**region.counters, **region.unresolved},
        board=info.name,
        estimated=True,
        max_abs_error=launcher.max_abs_error,
    )


def _unknown_type(region: Region) -> str:
    count = region.unresolved["unknown_vector_type"]
    return (
        f"the model does not know the vector type of {count:g} instructions, "
        "since vsetvl took it from a register that cannot be followed"
    )
