"""What the control groups of this process leave it of the processors' time.

A container (`docker run --cpus 2`) or a service may have a quota: time in each period of, often,
.1 s. Where it is used up, all its threads stand still until the period ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

__all__ = ["quota_cores", "times_throttled"]

_OWN = Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")


def quota_cores() -> float:
    """The time that this process may use, as a number of processors; infinite without a quota."""
    return min(map(_quota_of, _folders()), default=math.inf)


def times_throttled() -> int:
    """How often a quota of this process's groups was used up before its period ended."""
    counts = (_words(folder / "cpu.stat") for folder in _folders())
    return sum(int(words[words.index("nr_throttled") + 1]) for words in counts if words)


def _folders() -> Iterator[Path]:
    """Those of the process's group and of the groups around it, as far as they are shown here.

    A container that sees names of groups outside it has its own group at the top.
    """
    for line in _lines(_OWN):
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        group = Path(path)
        for each in (group, *group.parents):
            folder = _GROUPS / controllers / str(each).lstrip("/")
            if "nr_throttled" in _words(folder / "cpu.stat"):
                yield folder


def _quota_of(folder: Path) -> float:
    """Version 2 has quota and period in one file, version 1 in two; none is "max" or -1."""
    words = _words(folder / "cpu.max") or [
        *_words(folder / "cpu.cfs_quota_us"),
        *_words(folder / "cpu.cfs_period_us"),
    ]
    if len(words) != 2 or words[0] in ("max", "-1"):
        return math.inf
    return int(words[0]) / int(words[1])


def _words(path: Path) -> list[str]:
    return [word for line in _lines(path) for word in line.split()]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []  # not every system has control groups
