"""How far an emulated board's estimates can be trusted, from its comparison with real boards."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path

from rvv_runner.error_band import ErrorBand

__all__ = ["BANDS_FILE", "KERNEL_CLASSES", "error_band", "has_bands", "kernel_class"]

_PREFIX = "emulated:"
BANDS_FILE = Path(__file__).with_name("error_bands.toml")

# The classes of programs, each with what tells it; the first that holds.
KERNEL_CLASSES: Mapping[str, str] = {
    "memory": "lines from DRAM take half of the time",
    "streaming": "more than half of the vector instructions are loads and stores",
    "products": "of the others, a scalar load for every four vector instructions or fewer",
    "computing": "all others",
}

# A line from DRAM takes this long (x60_costs.toml).
_DRAM_LINE_CYCLES = 14.3


def kernel_class(counters: Mapping[str, float]) -> str:
    """The class of KERNEL_CLASSES that the counters of a run show."""

    def count(name: str) -> float:
        return counters.get(name, 0.0)

    accesses = count("vector_load_inst") + count("vector_store_inst")
    if 2 * count("l2_miss") * _DRAM_LINE_CYCLES >= count("u_mode_cycle"):
        return "memory"
    if 2 * accesses > count("vector_inst"):
        return "streaming"
    return "products" if 0 < count("vector_inst") <= 4 * count("scalar_loads") else "computing"


def error_band(device: str, counters: Mapping[str, float]) -> ErrorBand | None:
    """The band of an estimate; None for a device that was never compared with a real one.

    Args:
        device: its name in results, such as "emulated:x60".
        counters: of the measurement, which tell its class.
    """
    if not has_bands(device):
        return None
    entry = _bands()[device.removeprefix(_PREFIX)][kernel_class(counters)]
    return ErrorBand(entry["error"], entry["tied"])


def has_bands(device: str) -> bool:
    """Whether the model of that device was compared with published times."""
    return device.startswith(_PREFIX) and device.removeprefix(_PREFIX) in _bands()


@functools.cache
def _bands() -> Mapping[str, Mapping[str, Mapping[str, float]]]:
    return tomllib.loads(BANDS_FILE.read_text(encoding="utf-8"))
