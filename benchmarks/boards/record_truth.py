"""Keeps what the board truth benchmark needs of published results: python record_truth.py CHECKOUT.

CHECKOUT is one of https://github.com/camel-cdr/rvv-bench-results (MIT, by its README). Of the
SpacemiT X60's pages, the instruction table for vl=VLMAX ta ma and the rates of the routines at a
few sizes are written to `recorded/`.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from pathlib import Path

from truth_routines import ROUTINES

from foundation.command_line import run_script
from rvv_runner.cores.results_page import read_instructions, read_routines

__all__ = [
    "COMPILED",
    "INSTRUCTIONS_FILE",
    "RECORDED",
    "ROUTINES_FILE",
    "SOURCE",
    "nearest",
]

RECORDED = Path(__file__).parent / "recorded"
INSTRUCTIONS_FILE = "x60_instructions.tsv"
ROUTINES_FILE = "x60_routines.tsv"
SOURCE = (
    "# From https://github.com/camel-cdr/rvv-bench-results, spacemit_x60 (Banana Pi BPI-F3).\n"
    "# Copyright (c) Olaf Bernstein, MIT License.\n"
)
_SIZES = (1 << 10, 1 << 13, 1 << 16, 1 << 20)
_MEMORY_SIZES = tuple(1 << shift for shift in range(10, 26, 2))
_MEMORY_ROUTINES = ("memcpy", "memset", "utf8_count")
_LONGEST = {"mandelbrot": 1 << 13, "mergelines": 1 << 18}
# Compiled C that the compiler may turn into vector code or a libc call, as others did not.
COMPILED = ("libc", "musl", "autovec", "boring")


def _routine_lines(checkout: Path) -> Iterable[str]:
    yield "page\ttitle\timplementation\tsize\tcycles"
    for routine in read_routines(checkout / "spacemit_x60"):
        if routine.page not in ROUTINES or any(word in routine.name for word in COMPILED):
            continue
        memory = routine.page in _MEMORY_ROUTINES and routine.name in ("rvv_m1", "rvv_m8")
        wanted = (*_SIZES, *_MEMORY_SIZES) if memory else _SIZES
        longest = _LONGEST.get(routine.page, max(routine.rates))
        sizes = {nearest(routine.rates, min(size, longest)) for size in wanted}
        for size in sorted(sizes):
            cycles = size / routine.rates[size]
            yield f"{routine.page}\t{routine.title}\t{routine.name}\t{size}\t{cycles:.0f}"


def nearest(sizes: Iterable[int], wanted: int) -> int:
    """The size that is fewest times as large or as small as the wanted one."""
    return min(sizes, key=lambda size: abs(math.log(size / wanted)))


def _instruction_lines(checkout: Path) -> Iterable[str]:
    yield "instruction\tSEW/LMUL=cycles"
    for row in read_instructions(checkout / "spacemit_x60" / "index.html"):
        cells = (f"{sew}/{lmul}={cycles:g}" for (sew, lmul), cycles in row.cycles.items())
        if row.cycles:
            yield f"{row.text}\t{' '.join(cells)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path, help="of rvv-bench-results")
    checkout = parser.parse_args().checkout
    for name, lines in (
        (INSTRUCTIONS_FILE, _instruction_lines(checkout)),
        (ROUTINES_FILE, _routine_lines(checkout)),
    ):
        (RECORDED / name).write_text(SOURCE + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    run_script(main)
