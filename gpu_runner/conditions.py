"""Watches a GPU while it measures: its clocks, what slows it down, and other programs on it."""

from __future__ import annotations

import math
import os
import subprocess
import time
from dataclasses import dataclass, field
from typing import Any

import torch

from gpu_runner.amd_readings import AmdReadings
from gpu_runner.readings import Reading, ReadingSource

__all__ = ["GpuWatch"]

# A clock that differs by more between the beginning and the end of a measurement belies its times.
_CLOCK_CHANGE = 0.05
_BUSY_PERCENT = 5  # of the multiprocessors' time, used by another program

# NVML's "clocks event reasons" that mean that the GPU protects itself (nvml.h): a slowdown by the
# hardware, by software for heat, by the hardware for heat, and by the power brake.
_SLOWDOWNS = {
    0x08: "its hardware slowed it down",
    0x20: "it was slowed down since it is hot",
    0x40: "its hardware slowed it down since it is hot",
    0x80: "its power supply slowed it down",
}

# The reading after one measurement serves as the one before the next if that begins this soon: each
# takes NVML 1.7 ms, a fifth of a measurement of a small kernel.
_RECENT_S = 0.05

_SMI_LIMIT_S = 10.0
_SMI_PAUSE_S = 1.0  # each question to nvidia-smi takes a tenth of a second


class GpuWatch:
    """Compares the GPU before and after timed runs.

    Args:
        number: of the GPU among those that this process sees.
    """

    def __init__(self, number: int) -> None:
        self._source = _source_for(number)
        self._before = self._after = Reading()
        self._read_s = -math.inf

    @property
    def notes(self) -> tuple[str, ...]:
        """What cannot be watched, one sentence each."""
        return self._source.notes

    def know_own_process(self) -> None:
        """Call once when this process has its context, which other programs' are told from."""
        self._source.know_own_process()

    def start(self) -> None:
        """Before the timed runs, while the GPU is at work."""
        is_recent = time.monotonic() - self._read_s < _RECENT_S
        self._before = self._after if is_recent else self._source.read()

    def stop(self) -> str:
        """After them; returns why their times cannot be trusted, or ""."""
        self._after = after = self._source.read()
        self._read_s = time.monotonic()
        if after.slowdown:
            return after.slowdown
        if (after.other_percent or 0.0) >= _BUSY_PERCENT:
            return f"another program used {after.other_percent:.0f}% of it"
        clocks_hz = self._before.clock_hz, after.clock_hz
        if None not in clocks_hz and _changed(*clocks_hz):
            first, last = (round((hz or 0.0) / 1e6) for hz in clocks_hz)
            return f"its clock changed from {first} to {last} MHz"
        return ""

    @property
    def conditions(self) -> dict[str, float | str]:
        """The conditions of the last measurement, in SI units; what is not known is absent."""
        known = {
            "before_frequency_hz": self._before.clock_hz,
            "after_frequency_hz": self._after.clock_hz,
            "after_temperature_c": self._after.temperature_c,
            "other_programs_percent": self._after.other_percent,
        }
        return {name: value for name, value in known.items() if value is not None}


def _changed(first: float | None, last: float | None) -> bool:
    return first is not None and last is not None and abs(last - first) > _CLOCK_CHANGE * first


def _source_for(number: int) -> ReadingSource:
    """NVML, nvidia-smi, amdsmi or nothing, whichever is there."""
    if torch.version.hip is not None:
        return _amd_source(torch.cuda.get_device_properties(number))
    uuid = f"GPU-{torch.cuda.get_device_properties(number).uuid}"
    try:
        import pynvml

        pynvml.nvmlInit()
        return _Nvml(pynvml, pynvml.nvmlDeviceGetHandleByUUID(uuid))
    except ImportError:
        return _Smi(uuid)
    except Exception as error:  # NVML's own errors, of a class that only it has
        return _Blind(f"its clocks and other programs on it are not watched: NVML says {error}")


def _amd_source(facts: Any) -> ReadingSource:
    unseen = "its clocks and other programs on it are not watched"
    try:
        import amdsmi

        bus = facts.pci_domain_id, facts.pci_bus_id, facts.pci_device_id
        return AmdReadings(amdsmi, "{:04x}:{:02x}:{:02x}.0".format(*bus))
    except ImportError:
        return _Blind(f"{unseen}: install the Python package amdsmi")
    except Exception as error:  # of classes that only amdsmi has, or that its library is not there
        return _Blind(f"{unseen}: amdsmi says {error}")


def _slowdown(reasons: int | None) -> str:
    """In words, NVML's reasons for a slower clock that mean that the GPU protects itself."""
    return next((text for bit, text in _SLOWDOWNS.items() if (reasons or 0) & bit), "")


@dataclass
class _Blind:
    """Sees nothing, and says so."""

    note: str

    @property
    def notes(self) -> tuple[str, ...]:
        return (self.note,)

    def know_own_process(self) -> None:
        """There is nothing to tell it from."""

    def read(self) -> Reading:
        return Reading()


class _Nvml:
    """NVIDIA's management library, by the package nvidia-ml-py."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml = nvml
        self._handle = handle
        self._others_known = True
        self._pids_before = self._pids()
        self._own: set[int] = set()
        self._seen_until = 0

    @property
    def notes(self) -> tuple[str, ...]:
        return () if self._own else ("other programs on it cannot be seen",)

    def know_own_process(self) -> None:
        # In a container this process has another number than the driver knows it by.
        pids = self._pids()
        self._own = {os.getpid()} if os.getpid() in pids else pids - self._pids_before
        self._other_percent()

    def read(self) -> Reading:
        nvml, handle = self._nvml, self._handle
        clock = self._asked(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_SM)
        heat = self._asked(nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU)
        reasons = self._asked(nvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle)
        return Reading(
            clock_hz=None if clock is None else clock * 1e6,
            temperature_c=None if heat is None else float(heat),
            slowdown=_slowdown(reasons),
            other_percent=self._other_percent() if self._own else None,
        )

    def _asked(self, function: Any, *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except self._nvml.NVMLError:
            return None  # this GPU or this driver does not tell

    def _pids(self) -> set[int]:
        running = self._asked(self._nvml.nvmlDeviceGetComputeRunningProcesses, self._handle)
        return {process.pid for process in running or ()}

    def _other_percent(self) -> float | None:
        """The highest share of another program's since the last call; 0 if there was none."""
        ask = self._nvml.nvmlDeviceGetProcessUtilization
        try:
            samples = ask(self._handle, self._seen_until)
        except self._nvml.NVMLError_NotFound:
            return 0.0  # nobody used it
        except self._nvml.NVMLError:
            return None
        self._seen_until = max([self._seen_until, *(sample.timeStamp for sample in samples)])
        others = [sample.smUtil for sample in samples if sample.pid not in self._own]
        return float(max(others, default=0))


@dataclass
class _Smi:
    """The command nvidia-smi, at most once a second."""

    uuid: str
    notes: tuple[str, ...] = (
        "other programs on it cannot be seen: install the Python package nvidia-ml-py",
    )
    _last: Reading = field(default_factory=Reading)
    _read_s: float = -_SMI_PAUSE_S

    def know_own_process(self) -> None:
        """It does not tell programs apart by their use."""

    def read(self) -> Reading:
        if time.monotonic() - self._read_s < _SMI_PAUSE_S:
            return self._last
        self._read_s = time.monotonic()
        fields = "clocks.sm,temperature.gpu,clocks_throttle_reasons.active"
        command = ["nvidia-smi", f"--id={self.uuid}", f"--query-gpu={fields}"]
        try:
            done = subprocess.run(
                [*command, "--format=csv,noheader,nounits"],
                capture_output=True,
                text=True,
                timeout=_SMI_LIMIT_S,
                check=True,
            )
            clock, heat, reasons = (text.strip() for text in done.stdout.split(","))
            slowdown = _slowdown(int(reasons, 16))
            self._last = Reading(float(clock) * 1e6, float(heat), slowdown)
        except (OSError, subprocess.SubprocessError, ValueError):
            self._last = Reading()
        return self._last
