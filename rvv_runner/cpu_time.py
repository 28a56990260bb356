"""The processor time of child processes. Boards that are reached by hand use this file too."""

from __future__ import annotations

import resource

__all__ = ["children_cpu_s"]


def children_cpu_s() -> float:
    """Seconds of processor time that all child processes which have ended had used."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
