"""Watches this machine during a run: its conditions, and whether the run was disturbed."""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from pathlib import Path

from rvv_runner.conditions import describe_conditions, doubt
from rvv_runner.cpu_quota import times_throttled

__all__ = ["HostWatch"]

# Other programs may use this many cores on average. They also take memory bandwidth, shared cache
# and clock frequency from the core that measures.
_BUSY_CORES = 0.25

# How often the system may take the core from the program pinned to it. Its own short threads do so
# now and then; another program does so a hundred times a second and more.
_PREEMPTIONS_ALLOWED = 2
_PREEMPTIONS_ALLOWED_A_SECOND = 30.0

_THERMAL = Path("/sys/class/thermal")
_CPUFREQ = ("scaling_governor", "scaling_cur_freq", "scaling_max_freq")


class HostWatch:
    """Compares the machine before and after one run of a child process.

    Args:
        cores: those that the child is pinned to.
    """

    def __init__(self, cores: Sequence[int]) -> None:
        self._cores = cores
        self._raw = _snapshot("before", cores[0])
        self._preempted, self._throttled = _preemptions(), times_throttled()
        self._start_s = time.monotonic()

    def stop(self) -> None:
        """End the watch, after the child has ended and been waited for."""
        self._elapsed_s = time.monotonic() - self._start_s
        self._preempted = _preemptions() - self._preempted
        self._throttled = times_throttled() - self._throttled
        self._raw |= _snapshot("after", self._cores[0])
        self._raw["run.took"] = (str(round(self._elapsed_s * 100)),)

    @property
    def conditions(self) -> dict[str, float | str]:
        """The conditions on the machine, in SI units; what it does not show is absent."""
        return {**describe_conditions(self._raw), "preemptions": float(self._preempted)}

    @property
    def doubt(self) -> str:
        """Why times measured meanwhile cannot be trusted, or ""."""
        allowed = _PREEMPTIONS_ALLOWED + _PREEMPTIONS_ALLOWED_A_SECOND * self._elapsed_s
        allowed *= len(self._cores)
        if self._preempted > allowed:
            return (
                f"other programs took its cores {self._preempted} times in {self._elapsed_s:.2f} s"
            )
        if self._throttled > 0:
            return (
                "its container or service used up its quota of processor time "
                f"{_times(self._throttled)} in {self._elapsed_s:.2f} s"
            )
        found = doubt(self._raw, _BUSY_CORES)
        return found.text if found else ""


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _preemptions() -> int:
    """How often the system took the core from a child of this process that was ready to run."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_nivcsw


def _snapshot(moment: str, core: int) -> dict[str, tuple[str, ...]]:
    """First lines of the system's files, by the names that `describe_conditions` takes."""
    files = {
        "stat": [Path("/proc/stat")],
        "load": [Path("/proc/loadavg")],
        "temperature": sorted(_THERMAL.glob("thermal_zone*/temp")),
        "cooling": [
            device / "cur_state"
            for device in sorted(_THERMAL.glob("cooling_device*"))
            if "cpu" in "".join(_first_lines([device / "type"])).lower()
        ],
        **{name: [Path(f"/sys/devices/system/cpu/cpu{core}/cpufreq/{name}")] for name in _CPUFREQ},
    }
    found = {f"{moment}.{name}": _first_lines(paths) for name, paths in files.items()}
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    own_s = sum(usage.ru_utime + usage.ru_stime for usage in used)
    found[f"{moment}.cpu_time"] = (f"0m{own_s:.3f}s",)
    return {name: lines for name, lines in found.items() if lines}


def _first_lines(paths: list[Path]) -> tuple[str, ...]:
    lines = []
    for path in paths:
        try:
            lines.append(path.read_text().split("\n", 1)[0])
        except OSError:
            continue  # not every machine shows everything
    return tuple(lines)
