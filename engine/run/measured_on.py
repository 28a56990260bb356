"""The GPU and the Triton that a study's times come from, as stored with it.

Files of winners name both. A study's identity has neither: it has the board's kind, and a digest of
all tools.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

from engine.study.trials import StoredTrials
from engine.workers.toolchain import toolchain_versions
from foundation.gpu_limits import GpuLimits
from rvv_runner.board import BoardInfo

__all__ = ["MeasuredOn", "measured_on", "store_measured_on"]

_MEASURED_ON = "measured_on"  # name of the study's attribute

# Names of GPUs and versions become names of files.
_NAME = re.compile(r"[\w()+-][\w ().+-]*")


@dataclass(frozen=True)
class MeasuredOn:
    """What files of winners name of a study's board and tools.

    Args:
        gpu: the limits of the GPU; None for a processor.
        triton: the version of Triton.
    """

    gpu: GpuLimits | None
    triton: str


def store_measured_on(stored: StoredTrials, info: BoardInfo) -> None:
    """Store with a study what it is measured on, unless that is what is stored."""
    gpu = None if info.gpu is None else asdict(info.gpu)
    value = {"gpu": gpu, "triton": toolchain_versions(info.backend)["triton"]}
    if stored.attribute(_MEASURED_ON) != value:
        stored.set_attribute(_MEASURED_ON, value)


def measured_on(stored: StoredTrials) -> MeasuredOn | None:
    """What a study was measured on; None if an earlier version, or another program, stored it."""
    match stored.attribute(_MEASURED_ON):
        case {"gpu": None | dict() as gpu, "triton": str(triton)} if _NAME.fullmatch(triton):
            limits = None if gpu is None else _limits(gpu)
            return None if limits is None and gpu is not None else MeasuredOn(limits, triton)
    return None


def _limits(values: Mapping[str, object]) -> GpuLimits | None:
    """Limits from a storage that anyone may have written; None if they are none."""
    names = [values.get(key) for key in ("arch", "name")]
    numbers = [value for key, value in values.items() if key not in ("arch", "name")]
    if not all(isinstance(name, str) and _NAME.fullmatch(name) for name in names):
        return None
    if not all(type(number) is int and number >= 0 for number in numbers):
        return None
    try:
        return GpuLimits(**cast(dict[str, Any], values))
    except TypeError:
        return None
