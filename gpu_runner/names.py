"""The names of GPUs as users type them: "cuda", "cuda:1", "cuda:all", "hip:0", "cuda@graph"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from gpu_runner.target import GpuBackend

__all__ = ["ALL", "TIMINGS", "GpuName", "Timing", "example_names", "gpu_name"]

# How a kernel's time is taken: with the L2 cache flushed before each run, without, or in a CUDA
# graph, which leaves out what a launch costs.
Timing = Literal["cold", "warm", "graph"]
TIMINGS: tuple[Timing, ...] = get_args(Timing)

ALL = "all"

_BACKENDS: tuple[GpuBackend, ...] = get_args(GpuBackend)
_NAME = re.compile(
    rf"(?P<backend>{'|'.join(_BACKENDS)})(:(?P<number>\d+|{ALL}))?(@(?P<timing>{'|'.join(TIMINGS)}))?"
)


@dataclass(frozen=True)
class GpuName:
    """The name of a GPU, or of all GPUs.

    Args:
        backend: the kind.
        number: among those that this machine shows, as the user gave it; "all", or "" for the
            first.
        timing: how kernels are timed.
    """

    backend: GpuBackend
    number: str = ""
    timing: Timing = "cold"

    @property
    def place(self) -> int:
        """The number of one GPU."""
        return int(self.number or 0)

    def __str__(self) -> str:
        number = f":{self.number}" if self.number else ""
        timing = "" if self.timing == "cold" else f"@{self.timing}"
        return f"{self.backend}{number}{timing}"


def gpu_name(text: str) -> GpuName | None:
    """The parts of a GPU's name; None if it is no GPU's."""
    found = _NAME.fullmatch(text)
    if found is None:
        return None
    backend = next(one for one in _BACKENDS if one == found["backend"])
    timing: Timing = next((one for one in TIMINGS if one == found["timing"]), "cold")
    return GpuName(backend, found["number"] or "", timing)


def example_names() -> list[str]:
    """How GPUs can be named, for messages and completion."""
    return [name for backend in _BACKENDS for name in (backend, f"{backend}:0", f"{backend}:{ALL}")]
