"""Compares other emulated cores with published measurements: bench_core_truth.py RESULTS [CORE].

RESULTS is a checkout of https://github.com/camel-cdr/rvv-bench-results; RVV_BENCH names one of
https://github.com/camel-cdr/rvv-bench, whose routines are built here; DAV1D one of
https://code.videolan.org/videolan/dav1d at commit 789a1f65, for the C908; XNNPACK one of
https://github.com/google/XNNPACK, for the C908 and the X100. Of the instruction tables, only what
QEMU 7.2 runs is compared: the instructions of the X60's table.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from record_truth import COMPILED, INSTRUCTIONS_FILE, RECORDED, nearest
from truth_dav1d import compare_transforms
from truth_instructions import measure_cells
from truth_math import MathKernel, run_math_kernel
from truth_routines import Point, build_routine, run_points
from truth_scores import Comparison, score
from truth_sessions import core_fence_cycles

from foundation.command_line import run_script
from rvv_runner.cores.results_page import read_instructions, read_routines
from rvv_runner.devices import load_board
from rvv_runner.emulated.board import EmulatedBoard
from rvv_runner.emulated.run import Emulator

__all__ = ["main"]

_PAGES = {
    "c908": "canmv_k230",
    "a100": "spacemit_a100",
    "x100": "spacemit_x100",
    "ascalon": "tt_asc_x",
}
_ROUTINES = ("memcpy", "memset", "utf8_count", "mandelbrot", "mergelines", "LUT4", "byteswap")
_SIZES = (1 << 10, 1 << 13, 1 << 16)
_LONGEST = {"mandelbrot": 1 << 13}
_WITH_MATH = ("c908", "x100")
_BY_LMUL = ("c908",)  # kernels in several LMULs, of which a tuner would choose one
_USED_FOR_THE_TABLE = ("memset", "utf8_count")


def _instructions(emulator: Emulator, pages: Path) -> list[Comparison]:
    lines = (RECORDED / INSTRUCTIONS_FILE).read_text(encoding="utf-8").splitlines()
    known = {line.split("\t")[0] for line in lines}
    rows = [row for row in read_instructions(pages / "index.html") if row.text in known]
    return [
        Comparison(text, f"e{sew}{lmul}", published, estimated)
        for (text, sew, lmul), (published, estimated) in measure_cells(emulator, rows).items()
        if published > 0
    ]


def _routines(
    emulator: Emulator, core: str, pages: Path, checkout: Path
) -> Iterator[tuple[str, Comparison]]:
    """Each page's name with a comparison."""
    fence = core_fence_cycles(core)
    for page in _ROUTINES:
        published = {
            Point(routine.title, routine.name, size): size / routine.rates[size] - fence
            for routine in read_routines(pages)
            if routine.page == page and not any(word in routine.name for word in COMPILED)
            for size in {
                nearest(routine.rates, min(wanted, _LONGEST.get(page, wanted))) for wanted in _SIZES
            }
        }
        with tempfile.TemporaryDirectory() as folder:
            program = build_routine(checkout, page, Path(folder))
            found = run_points(emulator, program, list(published))
        for point, estimate in found.items():
            group = f"{point.title} {point.size}"
            yield page, Comparison(group, point.name, published[point], estimate.cycles)


def _math(emulator: Emulator, core: str, checkout: Path) -> list[Comparison]:
    lines = (RECORDED / f"{core}_math.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")][1:]
    kernels = [MathKernel(library, name, int(elements)) for library, name, elements, _ in rows]
    return [
        Comparison(
            kernel.group if core in _BY_LMUL else str(kernel.elements),
            kernel.name,
            float(row[3]),
            run_math_kernel(emulator, checkout, kernel).cycles,
        )
        for kernel, row in zip(kernels, rows, strict=True)
    ]


def _print(core: str, what: str, comparisons: list[Comparison]) -> None:
    if comparisons:
        found = score(comparisons)
        print(
            f"| {core} | {what} | {found.count} | {found.within_quarter:.0%} | "
            f"{found.within_twice:.0%} | {found.bias:.2f} | {found.pairs_right} of {found.pairs} |",
            flush=True,
        )


def main() -> None:
    """Print one table over the cores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, help="a checkout of rvv-bench-results")
    parser.add_argument("cores", nargs="*", metavar="CORE", help=", ".join(_PAGES))
    arguments = parser.parse_args()
    if unknown := set(arguments.cores) - set(_PAGES):
        parser.error(f"{min(unknown)} is none of the cores {', '.join(_PAGES)}")
    print("| core | published | points | within 25% | within 2x | bias | pairs right |")
    print("|---|---|---|---|---|---|---|")
    for core in arguments.cores or _PAGES:
        board = load_board(f"emulated:{core}")
        assert isinstance(board, EmulatedBoard)
        board.open()
        pages = arguments.results / _PAGES[core]
        _print(core, "instruction table", _instructions(board.emulator, pages))
        if "RVV_BENCH" in os.environ:
            found = list(_routines(board.emulator, core, pages, Path(os.environ["RVV_BENCH"])))
            fitted = [each for page, each in found if page in _USED_FOR_THE_TABLE]
            others = [each for page, each in found if page not in _USED_FOR_THE_TABLE]
            _print(core, f"{', '.join(_USED_FOR_THE_TABLE)} (memory is from them)", fitted)
            _print(core, "other routines", others)
        if core == "c908" and (checkout := os.environ.get("DAV1D")):
            _print(core, "dav1d", compare_transforms(board.emulator, Path(checkout), core))
        if core in _WITH_MATH and (checkout := os.environ.get("XNNPACK")):
            _print(core, "kernels of XNNPACK", _math(board.emulator, core, Path(checkout)))


if __name__ == "__main__":
    run_script(main)
