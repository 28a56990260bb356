"""Compares the emulated X60 with published measurements:
python benchmarks/boards/bench_board_truth.py.

RVV_BENCH names a checkout of https://github.com/camel-cdr/rvv-bench, whose routines are built here;
RISCV_GEMM one of https://github.com/BabarHussain786/riscv-openblas-gemm-accelerator, whose
executables are run; XNNPACK one of https://github.com/google/XNNPACK and VECLIBM one of
https://github.com/rivosinc/veclibm, whose math kernels are built; DAV1D one of
https://code.videolan.org/videolan/dav1d at commit 789a1f65, whose inverse transforms judge the
bands that held-out pages of rvv-bench make. What has no checkout is left out. Points beyond L1D of
a session whose memory was slower than later ones' (recorded/truth_sessions.toml) are scored apart
and are in no band. With --write, the error bands go to the file that the tuner prints them from.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from record_truth import INSTRUCTIONS_FILE, RECORDED, ROUTINES_FILE
from truth_dav1d import compare_transforms
from truth_gemm import build_loader, read_gemm_kernels, run_gemm
from truth_instructions import measure_cells
from truth_math import MATH_FILE, MathKernel, run_math_kernel
from truth_routines import Estimate, Point, build_routine, run_points
from truth_scores import Comparison, band, score, tied_below
from truth_sessions import fence_cycles, has_slow_memory

from foundation.command_line import run_script
from rvv_runner.board_file import read_board_file
from rvv_runner.cores.results_page import InstructionRow
from rvv_runner.emulated.board import EmulatedBoard
from rvv_runner.emulated.error_band import BANDS_FILE, KERNEL_CLASSES, kernel_class
from rvv_runner.emulated.run import Emulator

__all__ = ["main"]

_KIND = "x60"
_MEMORY = ("memcpy", "memset", "utf8_count")
_LEVELS = {"L1D": 24 << 10, "L2": 256 << 10, "DRAM": 1 << 40}
_FEWEST_HELD_OUT = 20  # of a class, for a band of its own
_CHECKOUTS = ("RVV_BENCH", "RISCV_GEMM", "XNNPACK", "VECLIBM")


def _instructions(emulator: Emulator) -> Iterator[tuple[str, list[Comparison]]]:
    rows = []
    for text, cells in _recorded(INSTRUCTIONS_FILE):
        pairs = (cell.split("=") for cell in cells.split(" "))
        cycles = {tuple(key.split("/")): float(value) for key, value in pairs}
        rows.append(
            InstructionRow(text, {(int(sew), lmul): c for (sew, lmul), c in cycles.items()})
        )
    kinds = defaultdict(list)
    for (text, sew, lmul), (published, estimated) in measure_cells(emulator, rows).items():
        kind = "whole registers" if lmul.startswith("m") and "f" not in lmul else "fractions"
        kind = "segments" if "seg" in text else kind
        kinds[kind].append(Comparison(text, f"e{sew}{lmul}", published, estimated))
    for kind, comparisons in sorted(kinds.items()):
        yield f"instruction table, {kind}", comparisons


def _routines(emulator: Emulator, checkout: Path) -> dict[str, list[Comparison]]:
    """Comparisons by page."""
    published: dict[str, dict[Point, float]] = defaultdict(dict)
    for page, title, name, size, cycles in _recorded(ROUTINES_FILE):
        published[page][Point(title, name, int(size))] = float(cycles) - fence_cycles(page)

    def run(page: str) -> dict[Point, Estimate]:
        with tempfile.TemporaryDirectory() as folder:
            program = build_routine(checkout, page, Path(folder))
            return run_points(emulator, program, list(published[page]))

    with ThreadPoolExecutor(os.cpu_count()) as executor:
        estimates = dict(zip(published, executor.map(run, published), strict=True))
    return {
        page: [
            Comparison(
                f"{point.title} {point.size}",
                point.name,
                published[page][point],
                estimate.cycles,
                kernel_class(estimate.counters),
            )
            for point, estimate in found.items()
        ]
        for page, found in estimates.items()
    }


def _gemm(emulator: Emulator, checkout: Path, frequency_hz: float) -> list[Comparison]:
    kernels = read_gemm_kernels(checkout)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as executor:
        loader = build_loader(Path(folder))
        runs = executor.map(
            lambda kernel: run_gemm(emulator, loader, kernel, frequency_hz), kernels
        )
        return [
            Comparison(
                kernel.suite, kernel.name, 1 / kernel.gflops, 1 / gflops, kernel_class(counters)
            )
            for kernel, (gflops, counters) in zip(kernels, runs, strict=True)
        ]


def _math(emulator: Emulator, library: str, checkout: Path) -> list[Comparison]:
    published = {
        MathKernel(library, name, int(elements)): float(cycles)
        for of, name, elements, cycles in _recorded(MATH_FILE)
        if of == library
    }
    with ThreadPoolExecutor(os.cpu_count()) as executor:
        estimates = executor.map(
            lambda kernel: run_math_kernel(emulator, checkout, kernel), published
        )
        return [
            Comparison(
                kernel.group, kernel.name, cycles, estimate.cycles, kernel_class(estimate.counters)
            )
            for (kernel, cycles), estimate in zip(published.items(), estimates, strict=True)
        ]


def _recorded(name: str) -> Iterator[list[str]]:
    lines = (RECORDED / name).read_text(encoding="utf-8").splitlines()
    table = [line for line in lines if not line.startswith("#")]
    for line in table[1:]:
        yield line.split("\t")


def _size(comparison: Comparison) -> int:
    return int(comparison.group.rsplit(" ", 1)[1])


def _memory_level(comparison: Comparison) -> str:
    return next(level for level, limit in _LEVELS.items() if _size(comparison) <= limit)


def _print_routines(routines: dict[str, list[Comparison]]) -> list[Comparison]:
    """Scores by page; returns what makes the error bands: all but the session with slow memory."""
    normal: list[Comparison] = []
    slow: dict[str, list[Comparison]] = {}
    for page, comparisons in routines.items():
        part = [item for item in comparisons if not has_slow_memory(page, _size(item))]
        slow[page] = [item for item in comparisons if has_slow_memory(page, _size(item))]
        _print_score(page, part)
        normal += part
    _print_score("all routines", normal)
    memory = [item for page in _MEMORY for item in routines[page]]
    for level in _LEVELS:
        _print_score(f"memory, {level}", [i for i in memory if _memory_level(i) == level])
    for page, part in slow.items():
        if part:
            _print_score(f"slow memory, {page}", part)
    return normal


def _print_score(name: str, comparisons: Sequence[Comparison]) -> None:
    found = score(comparisons)
    pairs = f"{found.pairs_right} of {found.pairs}" if found.pairs else "-"
    print(
        f"| {name} | {found.count} | {found.within_quarter:.0%} | {found.within_twice:.0%} | "
        f"{found.bias:.2f} | {found.rank_correlation:.2f} | {pairs} |".replace("nan", "-")
    )


def _print_memory(routines: dict[str, list[Comparison]]) -> None:
    print("\n| cycles a line, published / estimated | rvv_m1 | rvv_m8 |\n|---|---|---|")
    found: dict[tuple[str, int], dict[str, str]] = defaultdict(dict)
    for page in _MEMORY:
        for item in routines[page]:
            title, size = item.group.rsplit(" ", 1)
            if title.endswith("aligned") and item.name in ("rvv_m1", "rvv_m8"):
                lines = int(size) / 64
                text = f"{item.published / lines:.1f} / {item.estimated / lines:.1f}"
                found[title, int(size)][item.name] = text
    for (name, size_bytes), texts in found.items():
        print(f"| {name}, {size_bytes} bytes | {texts['rvv_m1']} | {texts['rvv_m8']} |")


def _by_class(comparisons: Sequence[Comparison]) -> dict[str, list[Comparison]]:
    return {kind: [c for c in comparisons if c.kind == kind] for kind in KERNEL_CLASSES}


def _print_classes(comparisons: Sequence[Comparison], held_out: Sequence[Comparison]) -> None:
    columns = ("class", "which", "held out", "80% are within", "points", "90% in order from")
    print(f"\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for kind, part in _by_class(comparisons).items():
        print(
            f"| {kind} | {KERNEL_CLASSES[kind]} | {len(_by_class(held_out)[kind])} | "
            f"±{_error(kind, held_out):.0%} | {len(part)} | {tied_below(part):.0%} |"
        )


def _held_out(routines: Mapping[str, Sequence[Comparison]]) -> list[Comparison]:
    """Points of pages that no figure was chosen by, without those of slow memory."""
    split = tomllib.loads((RECORDED / "truth_split.toml").read_text(encoding="utf-8"))
    pages = [name.removeprefix("rvv-bench ") for name in split["held"]]
    return [
        item
        for page in pages
        for item in routines.get(page, ())
        if not has_slow_memory(page, _size(item))
    ]


def _error(kind: str, held_out: Sequence[Comparison]) -> float:
    """The band of a class's held-out points, or of all of them where it has only a few."""
    part = _by_class(held_out)[kind]
    return band(part if len(part) >= _FEWEST_HELD_OUT else held_out)


def _write_bands(comparisons: Sequence[Comparison], held_out: Sequence[Comparison]) -> None:
    lines = [
        "# Written by benchmarks/boards/bench_board_truth.py --write: 80% of the published times",
        "# that no figure was chosen by lie within `error` of the estimates; closer than `tied`,",
        "# the order of two is not to be trusted, by all pairs of",
        "# points that were published more than 5% apart.",
    ]
    for kind, part in _by_class(comparisons).items():
        lines += ["", f"[{_KIND}.{kind}]", f"points = {len(part)}"]
        lines += [f"held_out = {len(_by_class(held_out)[kind])}"]
        lines += [f"error = {_error(kind, held_out):.3f}", f"tied = {tied_below(part):.3f}"]
    BANDS_FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _print_programs(
    emulator: Emulator, frequency_hz: float
) -> tuple[list[Comparison], dict[str, list[Comparison]]]:
    """Whole programs' scores; what makes the error bands, and the routines by page."""
    programs: list[Comparison] = []
    routines: dict[str, list[Comparison]] = {}
    if checkout := os.environ.get("RVV_BENCH"):
        routines = _routines(emulator, Path(checkout))
        programs += _print_routines(routines)
    if checkout := os.environ.get("RISCV_GEMM"):
        gemm = _gemm(emulator, Path(checkout), frequency_hz)
        for suite in sorted({item.group for item in gemm}):
            _print_score(suite, [item for item in gemm if item.group == suite])
        _print_score("all GEMM kernels", gemm)
        programs += gemm
    for library in ("XNNPACK", "veclibm"):
        if checkout := os.environ.get(library.upper()):
            math = _math(emulator, library, Path(checkout))
            _print_score(f"math of {library}", math)
            programs += math
    if checkout := os.environ.get("DAV1D"):
        _print_score("dav1d", compare_transforms(emulator, Path(checkout), _KIND))
    return programs, routines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the error bands")
    write = parser.parse_args().write
    board_file = read_board_file(_KIND)
    board = EmulatedBoard(board_file)
    board.open()
    emulator = board.emulator
    columns = ("points", "within 25%", "within 2x", "bias", "rank correlation", "pairs right")
    print(f"| published | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}")
    for name, comparisons in _instructions(emulator):
        _print_score(name, comparisons)
    programs, routines = _print_programs(emulator, board_file.frequency_hz)
    if routines:
        _print_memory(routines)
    missing = [name for name in _CHECKOUTS if not os.environ.get(name)]
    has_all = not missing
    if missing:
        names = ", ".join(missing)
        print(f"left out, since no checkout is named: {names} (see --help)", file=sys.stderr)
    if has_all:
        _print_classes(programs, _held_out(routines))
    if write:
        if not has_all:
            sys.exit(f"the error bands need all checkouts: set {', '.join(_CHECKOUTS)}")
        _write_bands(programs, _held_out(routines))


if __name__ == "__main__":
    run_script(main)
