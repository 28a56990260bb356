"""The number of processors to work on, and the time that processes have used of them."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cores", "used_cpu_s"]


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0))


def used_cpu_s(pid: int) -> float | None:
    """Seconds of processor time that a process and its ended children have used; None if it ended.

    They are fields 14 to 17 of /proc/PID/stat (proc(5)). The second field, the program's name, may
    hold spaces.
    """
    try:
        text = Path("/proc", str(pid), "stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
