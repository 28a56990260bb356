"""Figures of a core's memory from the rates of published routines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rvv_runner.cores.results_page import Routine

__all__ = ["memory_figures"]

_LINE_BYTES = 64
_BEYOND_L2_BYTES = 16 << 20  # of a server core, this may be a third level
_READS, _WRITES = "utf8 count aligned", "memset aligned"  # touch each line once


def memory_figures(
    routines: Sequence[Routine], l1d_bytes: int, l2_bytes: int
) -> dict[str, tuple[float, str]]:
    """Cycles a line for entries of [memory], each with where it is from; empty without routines.

    Each is the time of the fastest implementation, arithmetic included, so that it is rather too
    long than too short; of L2, reading counts only what is added to the time in L1D.

    Args:
        routines: of rvv-bench, with rates in bytes a cycle.
        l1d_bytes, l2_bytes: sizes of the data caches.
    """
    reads = [routine for routine in routines if routine.title.lower() == _READS]
    writes = [routine for routine in routines if routine.title.lower() == _WRITES]
    if not reads or not writes:
        return {}
    in_l1d, in_l2 = l1d_bytes // 2, l2_bytes // 2
    found = {
        "dram_read": (_line_cycles(reads, _BEYOND_L2_BYTES), f"{_READS}, 16 MB"),
        "dram_write": (_line_cycles(writes, _BEYOND_L2_BYTES), f"{_WRITES}, 16 MB"),
        "l2_written": (_line_cycles(writes, in_l2), f"{_WRITES}, half of L2"),
    }
    l2_read = _line_cycles(reads, in_l2) - _line_cycles(reads, in_l1d)
    if l2_read > 0:
        found["l2_streamed"] = (l2_read, f"{_READS}, half of L2 against half of L1D")
    return found


def _line_cycles(routines: Iterable[Routine], size_bytes: int) -> float:
    """Cycles a line of the fastest implementation at about that size."""
    return min(
        _LINE_BYTES / routine.rates[_size(routine, size_bytes)]
        for routine in routines
        if routine.name.startswith("rvv")
    )


def _size(routine: Routine, wanted_bytes: int) -> int:
    return min(routine.rates, key=lambda size: abs(math.log(size / wanted_bytes)))
