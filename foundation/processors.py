"""The number of processors to work on, and the time that processes have used of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

__all__ = ["cores", "used_cpu_s"]


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0))


def used_cpu_s(pid: int, *, with_children: bool = False) -> float | None:
    """Seconds of processor time that a process and its ended children have used; None if it ended.

    Args:
        pid: of the process.
        with_children: whether those of its children that still run count too, and theirs. All
            processes of the machine are looked at for that.
    """
    fields = _stat(pid)
    if fields is None:
        return None
    used_s = _used_s(fields)
    if with_children:
        stats = {int(path.name): _stat(int(path.name)) for path in Path("/proc").glob("[0-9]*")}
        used_s += sum(_used_s(stat) for stat in _descendants(pid, stats))
    return used_s


def _stat(pid: int) -> list[str] | None:
    """Fields 3 and up of /proc/PID/stat (proc(5)); None if the process has ended.

    The second field, the program's name, may hold spaces.
    """
    try:
        text = Path("/proc", str(pid), "stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text.rpartition(")")[2].split()


def _used_s(stat: Sequence[str]) -> float:
    """Fields 14 to 17: its own time and that of ended children, each for user and system."""
    return sum(map(int, stat[11:15])) / os.sysconf("SC_CLK_TCK")


def _descendants(pid: int, stats: Mapping[int, list[str] | None]) -> Iterator[list[str]]:
    """What /proc says of the children of a process, and theirs; field 4 is the parent."""
    for child, stat in stats.items():
        if stat is not None and int(stat[1]) == pid:
            yield stat
            yield from _descendants(child, stats)
