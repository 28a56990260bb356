"""How far an emulated board's estimates can be trusted, from its comparison with real boards."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["BANDS_FILE", "ErrorBand", "error_band", "has_bands", "is_memory_bound"]

_PREFIX = "emulated:"
BANDS_FILE = Path(__file__).with_name("error_bands.toml")

# A line from DRAM takes this long (x60_costs.toml); half of the time there is memory bound.
_DRAM_LINE_CYCLES = 14.3
_BOUND_SHARE = 0.5


@dataclass(frozen=True)
class ErrorBand:
    """What published times say of a class of estimates.

    Args:
        error: relative error that 80% of the published times do not exceed.
        tied: relative difference of two estimates below which their order is not to be trusted.
    """

    error: float
    tied: float


def is_memory_bound(cycles: float, l2_misses: float) -> bool:
    """Whether lines from DRAM take at least half of the estimated cycles."""
    return l2_misses * _DRAM_LINE_CYCLES >= _BOUND_SHARE * cycles


def error_band(device: str, counters: Mapping[str, float]) -> ErrorBand | None:
    """The band of an estimate; None for a device that was never compared with a real one.

    Args:
        device: its name in results, such as "emulated:x60".
        counters: of the measurement, which tell its class.
    """
    if not has_bands(device):
        return None
    bands = _bands()[device.removeprefix(_PREFIX)]
    cycles, misses = counters.get("u_mode_cycle", 0.0), counters.get("l2_miss", 0.0)
    entry = bands["memory" if is_memory_bound(cycles, misses) else "core"]
    return ErrorBand(entry["error"], entry["tied"])


def has_bands(device: str) -> bool:
    """Whether the model of that device was compared with published times."""
    return device.startswith(_PREFIX) and device.removeprefix(_PREFIX) in _bands()


@functools.cache
def _bands() -> Mapping[str, Mapping[str, Mapping[str, float]]]:
    return tomllib.loads(BANDS_FILE.read_text(encoding="utf-8"))
