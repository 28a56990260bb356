"""Builds rvv-bench's routines from a checkout and runs them on an emulated board."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from truth_build import build_program

from rvv_runner.emulated.counters import Region, parse_report
from rvv_runner.emulated.run import Emulator, run_in_qemu

__all__ = ["ROUTINES", "Estimate", "Point", "build_routine", "list_implementations", "run_points"]

# Pages of the results that have a source of the same name.
ROUTINES = (
    "memcpy",
    "memset",
    "memreverse",
    "utf8_count",
    "strlen",
    "mergelines",
    "mandelbrot",
    "chacha20",
    "poly1305",
    "ascii_to_utf16",
    "ascii_to_utf32",
    "byteswap",
    "LUT4",
    "LUT6",
    "base64_encode",
    "trans8x8e8",
    "trans8x8e16",
)

_DRIVER = Path(__file__).with_name("truth_driver.h")
_CPU = "-mcpu=baseline_rv64+v+zba+zbb+zbs"
_RUN_TIMEOUT_S = 900.0
_CACHED_BYTES = 512 << 10


@dataclass(frozen=True)
class Point:
    """One implementation at one size.

    Args:
        title, name: of the diagram and of the implementation.
        size: in the routine's own unit, usually bytes.
    """

    title: str
    name: str
    size: int


@dataclass(frozen=True)
class Estimate:
    """What the board says of a point: the means over its timed runs.

    Args:
        cycles: estimated.
        counters: by event.
    """

    cycles: float
    counters: Mapping[str, float]


def build_routine(checkout: Path, name: str, folder: Path) -> Path:
    """The executable of a routine, with this project's driver in place of rvv-bench's.

    Raises:
        ZigError: if it does not compile.
        OSError: if the checkout lacks a file.
    """
    bench = folder / name / "bench"
    bench.mkdir(parents=True)
    for source in (f"{name}.c", f"{name}.S", "template.S"):
        shutil.copy(checkout / "bench" / source, bench)
    for included in (checkout / "bench").glob("*.inc"):
        shutil.copy(included, bench)
    shutil.copy(checkout / "nolibc.h", bench.parent)
    shutil.copytree(checkout / "thirdparty", bench.parent / "thirdparty")
    shutil.copy(_DRIVER, bench / "bench.h")
    (bench / "config.h").touch()  # the driver has what it would say
    flags = [_CPU, "-O3", "-w", "-I..", f"-DINC={name}.S"]
    program = bench.parent / "run"
    build_program(flags, [Path(f"{name}.c"), Path("template.S")], program, folder=bench)
    return program


def list_implementations(emulator: Emulator, program: Path) -> dict[tuple[str, str], str]:
    """The driver's name ("benchmark:implementation") of each title and implementation."""
    run = run_in_qemu(emulator, program, (), _RUN_TIMEOUT_S)
    found = {}
    for line in run.result.stdout.splitlines():
        numbers, name = line.split("\t")
        benchmark, implementation, title = numbers.split(" ", 2)
        found[title, name] = f"{benchmark}:{implementation}"
    return found


def run_points(emulator: Emulator, program: Path, points: Sequence[Point]) -> dict[Point, Estimate]:
    """The estimate of each point that the program has.

    What fits into the caches is run before it is timed, as rvv-bench does by repeating it.

    Raises:
        RuntimeError: if the program fails.
    """
    names = list_implementations(emulator, program)
    known = [point for point in points if (point.title, point.name) in names]
    rounds = [(3, 4) if point.size * 2 <= _CACHED_BYTES else (0, 1) for point in known]
    arguments = [
        f"{names[point.title, point.name]}:{point.size}:{warmups}:{runs}"
        for point, (warmups, runs) in zip(known, rounds, strict=True)
    ]
    if not arguments:
        return {}
    run = run_in_qemu(emulator, program, arguments, _RUN_TIMEOUT_S)
    if run.result.returncode != 0 or run.report is None:
        raise RuntimeError(f"{program} ended with status {run.result.returncode}")
    regions = iter(parse_report(run.report))
    return {
        point: _mean([next(regions) for _ in range(runs)])
        for point, (_, runs) in zip(known, rounds, strict=True)
    }


def _mean(regions: Sequence[Region]) -> Estimate:
    count = len(regions)
    return Estimate(
        sum(region.cycles for region in regions) / count,
        {
            event: sum(region.counters[event] for region in regions) / count
            for event in regions[0].counters
        },
    )
