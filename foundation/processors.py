"""The number of processors to work on."""

from __future__ import annotations

import os

__all__ = ["cores"]


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0))
