"""This machine as a board: the kernel's wall-clock time on one or several of its cores."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from pathlib import Path

from foundation.scratch import scratch_folder
from rvv_runner.board import BoardError, BoardInfo
from rvv_runner.cold import flush_options
from rvv_runner.cpu_quota import quota_cores
from rvv_runner.disturbed import DISTURBED, undisturbed
from rvv_runner.failure import failed, failed_run, taken_elf
from rvv_runner.host_conditions import HostWatch
from rvv_runner.host_lock import measuring
from rvv_runner.measurement import Artifact, ElfArtifact, Measurement
from rvv_runner.process import run_bounded
from rvv_runner.usage import ONE_CORE, Usage
from rvv_runner.verdict import OUTPUT_LIMIT_BYTES, Ending, judge
from triton_rvv.targets.host_caches import cache_bytes
from triton_rvv.targets.host_target import host_target

__all__ = ["HostBoard", "run_once"]

_PAUSE_S = 0.2


class HostBoard:
    """Runs executables for this machine's processor, pinned to its last cores, one at a time.

    Builds for this board wait while it measures. If the machine was busy all the same, or runs were
    held up, the measurement is repeated; if it stays busy, the fastest of three is kept, and
    "disturbed" among its conditions says why it cannot be trusted.

    Args:
        usage: on how many cores kernels run, and how they are timed.

    Raises:
        UserError: if this machine has fewer cores.
    """

    def __init__(self, usage: Usage = ONE_CORE) -> None:
        target = host_target()
        cores = sorted(os.sched_getaffinity(0))
        self._cores = cores[-usage.cores :]
        self._is_open = False
        info = BoardInfo(
            name="host",
            kind=str(target),
            cpu=target.cpu,
            vlen_bits=target.vector_bits,
            cores=len(cores),
            frequency_hz=_frequency_hz(cores[-1]),
            l1d_bytes=cache_bytes(1),
            l2_bytes=cache_bytes(2),
            backend="host",
        )
        usage.check(info.name, info.cores)
        self._info = usage.of(info)
        flush = flush_options(usage.timing, cache_bytes(3) or info.l2_bytes)
        self._options = (*flush, *usage.launcher_options)

    @property
    def info(self) -> BoardInfo:
        """What is known about the board."""
        return self._info

    @property
    def notes(self) -> tuple[str, ...]:
        """That it has no counters, and whether a quota leaves less time than its cores take."""
        found, quota = ["times only, no counters"], quota_cores()
        if quota < self._info.used_cores:
            found.append(
                f"a quota of its container or service leaves it the time of {quota:g} processors: "
                "raise it, or threads stand still while they are timed"
            )
        return tuple(found)

    def open(self) -> None:
        """Check that the system shows what is needed.

        Raises:
            BoardError: if it does not.
        """
        if not Path("/proc/stat").exists():
            raise BoardError("the device host needs Linux: name another with --device")
        self._is_open = True

    def measure(self, artifact: Artifact, repeats: int, timeout_s: float) -> Measurement:
        """Check the output once, then run the grid `repeats` times untimed and as often timed.

        Args:
            artifact: what to run.
            repeats: timed runs of the grid.
            timeout_s: for one run of the executable, with check and warm-up.
        """
        if not self._is_open:
            raise RuntimeError("measure() was called on a board that is not open")
        elf = taken_elf(artifact, self._info)
        if isinstance(elf, Measurement):
            return elf
        deadline = time.monotonic() + timeout_s
        return undisturbed(lambda: self._attempt(elf, repeats, timeout_s), deadline, _PAUSE_S)

    def close(self) -> None:
        """Release the board; it can be opened again."""
        self._is_open = False

    def _attempt(self, artifact: ElfArtifact, repeats: int, timeout_s: float) -> Measurement:
        try:
            with measuring() as turn:
                watch = HostWatch(self._cores)
                options = ("--warmup", str(repeats), *self._options)
                result = run_once(artifact, repeats, timeout_s, options, self._cores)
                watch.stop()
        except OSError as error:
            return failed("board", self._info, f"the executable cannot be run: {error}")
        vlen_bits, kernel = self._info.vlen_bits, artifact.kernel
        verdict = judge(result, timeout_s, repeats, vlen_bits=vlen_bits, kernel=kernel)
        doubt = {DISTURBED: watch.doubt} if watch.doubt else {}
        return failed_run(verdict, self._info) or Measurement(
            status="correct",
            times_s=verdict.launcher.times_s,
            board=self._info.name,
            max_abs_error=verdict.launcher.max_abs_error,
            max_share=verdict.launcher.max_share,
            conditions={**watch.conditions, **turn.conditions, **doubt},
        )


def run_once(
    artifact: ElfArtifact,
    repeats: int,
    timeout_s: float,
    options: Sequence[str] = (),
    cores: Sequence[int] = (),
) -> Ending:
    """Run an executable for this machine now, whatever else runs here.

    Args:
        artifact: what to run.
        repeats: timed runs of the grid.
        timeout_s: until it is ended.
        options: more of the launcher's.
        cores: those that it may use; all where none is given.
    """
    words = (str(artifact.elf_path), str(artifact.data_path), *artifact.launcher_options)
    with scratch_folder("host-") as folder:
        return run_bounded(
            [*words, "--repeats", str(repeats), *options],
            folder=folder,
            timeout_s=timeout_s,
            output_limit_bytes=OUTPUT_LIMIT_BYTES,
            cores=cores,
        )


def _frequency_hz(core: int) -> float:
    """The highest clock of a core, or its clock now in /proc/cpuinfo; NaN if neither is shown."""
    highest = Path(f"/sys/devices/system/cpu/cpu{core}/cpufreq/cpuinfo_max_freq")
    if highest.exists():
        return float(highest.read_text()) * 1e3
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("cpu MHz"):
            return float(line.split(":")[1]) * 1e6
    return math.nan
