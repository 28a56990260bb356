"""Compares what rvv-bench measured twice on one board: python truth_history.py CHECKOUT.

CHECKOUT is a clone of https://github.com/camel-cdr/rvv-bench-results with its history. Routines of
the BPI-F3 that were measured on 21 May 2024 and once more later are compared implementation by
implementation: what the `fence.i` that was timed at first took, and the ratio of the two times by
the level of memory that the bytes they touch fit into. A second table says how often the time of a
byte jumps from one size to the next, which a model of the core alone cannot follow; what was
measured then only is in it, too, but for the held-out half (recorded/truth_split.toml). The last
line has what `fence.i` took of the times of a K230, whose later pages have it.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from truth_sessions import L1D_BYTES, fence_cycles, touched_bytes

from foundation.command_line import run_script
from rvv_runner.cores.results_page import read_routines

__all__ = ["main"]

_EARLY, _LATER = "97bc272", {"memcpy": "c128720", "memset": "c128720", "utf8_count": "c128720"}
_LATER["LUT4"] = "95898b9"
_FENCED = {_EARLY, "95898b9"}
_FENCE = fence_cycles("LUT4")
_FENCE_SIZES = range(500, 6000)
_LEVELS = {"L1D": range(4 << 10, L1D_BYTES), "L2": range(48 << 10, 256 << 10)}
_LEVELS["DRAM"] = range(3 << 19, 1 << 40)
_K230 = ("canmv_k230", "a1d5a11", "113016c")  # folder, without fence.i and with it
_ONCE = ("strlen", "ascii_to_utf32", "byteswap", "mergelines")
_NEIGHBOURS = 2  # on each side
_JUMP = 1.25
_Rates = Mapping[tuple[str, str], Mapping[int, float]]


def _read(checkout: Path, commit: str, page: str, board: str = "bpi_f3") -> _Rates:
    """Rates in bytes a cycle, by size in bytes, of each title and implementation."""
    show = ["git", "-C", str(checkout), "show", f"{commit}:{board}/{page}.html"]
    text = subprocess.run(show, check=True, capture_output=True, timeout=60).stdout
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"{page}.html").write_bytes(text)
        routines = read_routines(Path(folder))
    # gathers of LUT4 were renamed in between
    return {(r.title, r.name.replace("_gather", "_vrgather")): r.rates for r in routines}


def _cycles_at(rates: Mapping[int, float], size: int) -> float | None:
    """The time at a size that lies between measured ones."""
    for below, above in pairwise(sorted(rates)):
        if below <= size <= above:
            share = (size - below) / (above - below)
            return (1 - share) * below / rates[below] + share * above / rates[above]
    return None


def _pairs(early: _Rates, later: _Rates) -> list[tuple[int, float, float]]:
    """Size in bytes, cycles then and cycles later of all that both have in assembly."""
    return [
        (size, size / rate, then)
        for key in early.keys() & later.keys()
        if key[1].startswith("rvv")
        for size, rate in early[key].items()
        if (then := _cycles_at(later[key], size)) is not None
    ]


def _fence(fenced: _Rates, free: _Rates) -> float:
    """What a fence.i takes: the median over implementations and small sizes."""
    pairs = _pairs(fenced, free)
    return statistics.median(long - short for size, long, short in pairs if size in _FENCE_SIZES)


def _jumps(rates: _Rates, page: str, sizes: range) -> tuple[int, int]:
    """How many times of a byte are far from the median of their neighbours, and of how many."""
    count = jumps = 0
    for (_, name), of in rates.items():
        inside = [s for s in sorted(of) if touched_bytes(page, s) in sizes]
        times = [1 / of[size] for size in inside] if name.startswith("rvv") else []
        for at in range(_NEIGHBOURS, len(times) - _NEIGHBOURS):
            median = statistics.median(times[at - _NEIGHBOURS : at + _NEIGHBOURS + 1])
            jumps += not 1 / _JUMP <= times[at] / median <= _JUMP
            count += 1
    return jumps, count


def _print_jumps(checkout: Path) -> None:
    print("\n| routine | L2: jumps then | later | DRAM: jumps then | later |")
    print("|---|---|---|---|---|")
    for page in (*_LATER, *_ONCE):
        cells = []
        for level in ("L2", "DRAM"):
            for commit in (_EARLY, _LATER.get(page)):
                found = commit and _jumps(_read(checkout, commit, page), page, _LEVELS[level])
                cells.append("{} of {}".format(*found) if found else "-")
        print(f"| {page} | {' | '.join(cells)} |")


def main() -> None:
    """Print two tables, a row for each routine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path, help="of rvv-bench-results, with its history")
    checkout = parser.parse_args().checkout
    columns = ("fence.i, median cycles", *(f"{level}: ratio, 10% and 90%" for level in _LEVELS))
    print(f"| routine | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}")
    for page, commit in _LATER.items():
        rates = _read(checkout, _EARLY, page), _read(checkout, commit, page)
        cells = ["-" if commit in _FENCED else f"{_fence(*rates):.0f}"]
        ratios: dict[str, list[float]] = defaultdict(list)
        for size, early, later in _pairs(*rates):
            ratio = (early - _FENCE) / (later - (_FENCE if commit in _FENCED else 0.0))
            for level, sizes in _LEVELS.items():
                if touched_bytes(page, size) in sizes:
                    ratios[level].append(ratio)
        for found in ratios.values():
            tenths = statistics.quantiles(found, n=10)
            cells.append(f"{statistics.median(found):.2f}, {tenths[0]:.2f} to {tenths[-1]:.2f}")
        print(f"| {page} | {' | '.join(cells)} |")
    _print_jumps(checkout)
    board, free, fenced = _K230
    cycles = [
        f"{page} {_fence(*(_read(checkout, commit, page, board) for commit in (fenced, free))):.0f}"
        for page in ("memcpy", "memset", "utf8_count")
    ]
    print(f"\nfence.i on a K230, median cycles: {', '.join(cycles)}")


if __name__ == "__main__":
    run_script(main)
