"""In which session a page of rvv-bench's results was measured, and what its times contain."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["L1D_BYTES", "core_fence_cycles", "fence_cycles", "has_slow_memory", "touched_bytes"]

_SESSIONS = Path(__file__).parent / "recorded" / "truth_sessions.toml"
L1D_BYTES = 24 << 10  # of 32 KiB: what surely stays there


@functools.cache
def _sessions() -> Mapping[str, Any]:
    return tomllib.loads(_SESSIONS.read_text(encoding="utf-8"))


def fence_cycles(page: str) -> float:
    """What the `fence.i` that earlier versions of rvv-bench timed took of a page's times."""
    fence = _sessions()["fence"]
    return float(fence["cycles"]) if page in fence["pages"] else 0.0


def core_fence_cycles(core: str) -> float:
    """The same for every page of another emulated core."""
    return float(_sessions()["fence_of_core"].get(core, 0.0))


def has_slow_memory(page: str, size: int) -> bool:
    """Whether a point goes beyond L1D in the session whose memory was slower than in later ones."""
    return page in _sessions()["slow_memory"]["pages"] and touched_bytes(page, size) > L1D_BYTES


def touched_bytes(page: str, size: int) -> int:
    """Bytes of memory that a routine touches at a size."""
    return size * int(_sessions()["bytes_per_unit"].get(page, 1))
