"""Readings of an AMD GPU by its management library, the Python package amdsmi.

Names and fields are those of AMD's "AMD SMI Python API reference", release 7. No AMD GPU was at
hand: the tests have a module with the same functions in its place.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from gpu_runner.readings import Reading

__all__ = ["AmdReadings"]

# Counters among the GPU's metrics that rise while it works more slowly to protect itself.
_SLOWDOWNS = {
    "prochot_residency_acc": "its hardware slowed it down since it is hot",
    "socket_thm_residency_acc": "it was slowed down since it is hot",
    "vr_thm_residency_acc": "it was slowed down since its voltage regulators are hot",
    "hbm_thm_residency_acc": "it was slowed down since its memory is hot",
}


class AmdReadings:
    """Asks amdsmi about one GPU. The temperature is left out: its unit differs between releases.

    Args:
        smi: the package.
        address: of the GPU on the PCI bus, as "0000:c1:00.0".

    Raises:
        Exception: amdsmi's own, if the library cannot be used or knows no such GPU.
    """

    def __init__(self, smi: Any, address: str) -> None:
        self._smi = smi
        smi.amdsmi_init()
        self._handle = smi.amdsmi_get_processor_handle_from_bdf(address)
        self._pids_before = set(self._busy_ns())
        self._own: set[int] = set()
        self._slow: Mapping[str, float] = {}
        self._busy: Mapping[int, float] = {}
        self._read_s = time.monotonic()

    @property
    def notes(self) -> tuple[str, ...]:
        """Whether other programs can be seen."""
        return () if self._own else ("other programs on it cannot be seen",)

    def know_own_process(self) -> None:
        """Tell this process from others; in a container it may have another number there."""
        pids = set(self._busy_ns())
        self._own = {os.getpid()} if os.getpid() in pids else pids - self._pids_before
        self.read()

    def read(self) -> Reading:
        """What the GPU says now."""
        smi = self._smi
        clock = self._asked(smi.amdsmi_get_clock_info, smi.AmdSmiClkType.GFX) or {}
        mhz = _number(clock.get("clk"))
        return Reading(
            clock_hz=None if mhz is None else mhz * 1e6,
            slowdown=self._slowdown(),
            other_percent=self._other_percent() if self._own else None,
        )

    def _slowdown(self) -> str:
        """Why it was slower at some time since the last reading, or ""."""
        metrics = self._asked(self._smi.amdsmi_get_gpu_metrics_info) or {}
        now = {name: n for name in _SLOWDOWNS if (n := _number(metrics.get(name))) is not None}
        before, self._slow = self._slow, now
        risen = (name for name, count in now.items() if count > before.get(name, count))
        return next((_SLOWDOWNS[name] for name in risen), "")

    def _other_percent(self) -> float:
        """The highest share of another program since the last reading."""
        now_s, busy = time.monotonic(), self._busy_ns()
        span_ns = max(now_s - self._read_s, 1e-6) * 1e9
        used_ns = [
            busy_ns - self._busy.get(pid, busy_ns)
            for pid, busy_ns in busy.items()
            if pid not in self._own
        ]
        self._read_s, self._busy = now_s, busy
        return min(100.0, 100 * max(used_ns, default=0.0) / span_ns)

    def _busy_ns(self) -> dict[int, float]:
        """Nanoseconds that each process has used the GPU for so far."""
        processes = self._asked(self._smi.amdsmi_get_gpu_process_list) or ()
        return {p["pid"]: _number(p.get("engine_usage", {}).get("gfx")) or 0.0 for p in processes}

    def _asked(self, function: Callable[..., Any], *arguments: object) -> Any:
        try:
            return function(self._handle, *arguments)
        except self._smi.AmdSmiException:
            return None  # this GPU or this driver does not tell


def _number(value: object) -> float | None:
    """A number; amdsmi gives "N/A" for what is not known."""
    return float(value) if isinstance(value, int | float) else None
