"""In which session a page of rvv-bench's results was measured, and what its times contain."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["L1D_BYTES", "fence_cycles", "has_slow_memory"]

_SESSIONS = Path(__file__).parent / "recorded" / "truth_sessions.toml"
L1D_BYTES = 24 << 10  # of 32 KiB: what surely stays there


@functools.cache
def _sessions() -> Mapping[str, Any]:
    return tomllib.loads(_SESSIONS.read_text(encoding="utf-8"))


def fence_cycles(page: str) -> float:
    """What the `fence.i` that earlier versions of rvv-bench timed took of a page's times."""
    fence = _sessions()["fence"]
    return float(fence["cycles"]) if page in fence["pages"] else 0.0


def has_slow_memory(page: str, size: int) -> bool:
    """Whether a point goes beyond L1D in the session whose memory was slower than in later ones."""
    sessions = _sessions()
    touched_bytes = size * sessions["bytes_per_unit"].get(page, 1)
    return page in sessions["slow_memory"]["pages"] and touched_bytes > L1D_BYTES
