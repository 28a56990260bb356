"""The processor time of other processes. Boards that are reached by hand use this file too."""

from __future__ import annotations

import os
import resource
from pathlib import Path

__all__ = ["children_cpu_s", "process_cpu_s"]


def children_cpu_s() -> float:
    """Seconds of processor time that all child processes which have ended had used."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def process_cpu_s(pid: int) -> float:
    """Seconds of processor time that the threads of a process have used so far; 0 if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    user, system = fields[11:13]  # behind the name, which may hold anything
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
