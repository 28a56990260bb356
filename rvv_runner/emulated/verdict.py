"""Turns a run in QEMU into a measurement."""

from __future__ import annotations

from collections.abc import Sequence

from launchers.output import LauncherReport
from rvv_runner.board import BoardInfo
from rvv_runner.emulated.counters import Region, parse_report, processes_started, unpaired_marks
from rvv_runner.emulated.run import QemuRun
from rvv_runner.failure import failed, failed_run
from rvv_runner.measurement import Measurement
from rvv_runner.verdict import judge

__all__ = ["measurement_of"]


_NO_REPORT = "board plug-in: its report cannot be written\n"


def measurement_of(
    run: QemuRun,
    info: BoardInfo,
    timeout_s: float,
    kernel: str | None,
    models: Sequence[str] = (),
) -> Measurement:
    """The measurement from one timed run of the launcher in QEMU.

    Args:
        run: the run.
        info: the board it ran on.
        timeout_s: its time limit.
        kernel: the name of the kernel that was to run; None for any.
        models: names of the models that it was estimated under, if there are several.
    """
    verdict = judge(run.result, timeout_s, 1, "QEMU", info.vlen_bits, kernel)
    # The launcher had ended well before.
    if verdict.launcher.output_ok and run.result.stderr.endswith(_NO_REPORT):
        return failed("board", info, "the plug-in's report cannot be written: look at the disk")
    return failed_run(verdict, info) or _correct(run.report, verdict.launcher, info, models)


def _correct(
    report: str | None, launcher: LauncherReport, info: BoardInfo, models: Sequence[str]
) -> Measurement:
    try:
        regions = parse_report(report or "")
    except ValueError:
        return failed("board", info, "the plug-in left no report")
    if not regions or regions[0].cycles <= 0:
        return failed("board", info, "the plug-in saw no timed run")
    if len(regions) > 1 or unpaired_marks(report or ""):
        return failed("runtime", info, "it executed marks of a timed run, which are the launcher's")
    if processes_started(report or ""):
        return failed("runtime", info, "it started other processes, which the board does not time")
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
        max_share=launcher.max_share,
        models_s={
            name: cycles / info.frequency_hz
            for name, cycles in zip(models, region.models, strict=bool(models))
        },
    )


def _unknown_type(region: Region) -> str:
    count = region.unresolved["unknown_vector_type"]
    return (
        f"the model does not know the vector type of {count:g} instructions, "
        "since vsetvl took it from a register that it cannot track"
    )
