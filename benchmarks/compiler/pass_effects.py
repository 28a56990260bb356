"""What each pass and rule of the compiler is worth:
python benchmarks/compiler/pass_effects.py [KERNEL or FILE.py ...]

Every row of `code_speed.toml`, every kernel of bench_hand.py, `common_sums.py`, `common_edges.py`,
`common_choices.py`, `common_angles.py`, `common_bytes.py`, `common_tables.py`, `common_halves.py`,
`common_fixed_point.py`, `common_turns.py`, `common_columns.py`, `common_counts.py`,
`common_rows.py`, and a product with 4-bit weights on the emulated X60, so all cycles are estimates:
with all passes, and without each of those that changed something, and each of the rules by which
code was written. Of a row's configurations, the default and the one that is fastest with all are
measured. What does not build, or is wrong, is named in its row, and the others go on. That takes an
hour on two cores.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bench_code_speed import LIMIT_S, Row, read_rows
from bench_hand import DRAWS, check_chosen, drawn_kernels
from build_without import build_without

from engine.workers.artifacts import BuildFailure
from foundation.command_line import run_script
from foundation.config import Config
from foundation.shapes import shape_text
from kernels.registry import is_kernel_file
from rvv_runner import ElfArtifact
from rvv_runner.devices import load_board
from triton_rvv.pass_printer import skipped_names
from triton_rvv.pipeline import CompiledKernel

__all__ = ["RowEffects", "effects_of"]

# A row, and for each pass the cycles without it over those with all.
_Effects = tuple[Row, Mapping[str, float]]

# Kernels that no table has, for passes that few others call for.
_FILES = (
    "common_sums.py",
    "common_edges.py",
    "common_choices.py",
    "common_angles.py",
    "common_bytes.py",
    "common_tables.py",
    "common_halves.py",
    "common_fixed_point.py",
    "common_turns.py",
    "common_columns.py",
    "common_counts.py",
    "common_rows.py",
)
OTHERS = [Path(__file__).parent / "hand" / name for name in _FILES]

# A product whose weights have 4 bits: the tables have none.
PRODUCTS = [Row("matmul_w4a8", {"M": 16, "N": 128, "K": 256}, blocks=[[8, 64], [16, 64]])]

# A pass or rule is to pay so much on at least two kernels of different files.
WORTH = 1.03


@dataclass(frozen=True)
class RowEffects:
    """A row's passes and rules.

    Args:
        row: which it is.
        default: for each that changed something in the default configuration, the cycles
            without it over those with all.
        fastest: the same in the fastest configuration.
        failed: what did not build, or was not right, a sentence each.
    """

    row: Row
    default: Mapping[str, float]
    fastest: Mapping[str, float]
    failed: Sequence[str] = ()


def effects_of(row: Row) -> RowEffects:
    """Build and measure a row; a configuration that fails has no effects, and is named."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        failed: list[str] = []
        timed: dict[int, tuple[_Build, float]] = {}
        for n, config in enumerate(row.configs):
            built = _build(row, config, "", folder / str(n))
            cycles = built if isinstance(built, str) else _cycles(built)
            if isinstance(built, _Build) and isinstance(cycles, float):
                timed[n] = built, cycles
            else:
                failed.append(f"{config} {cycles}")
        fastest = min(timed, key=lambda n: timed[n][1], default=0)
        effects: dict[int, Mapping[str, float]] = {0: {}}
        for n in {0, fastest} & timed.keys():
            effects[n], missing = _without_each(row, row.configs[n], *timed[n], folder / f"w{n}")
            failed += missing
    return RowEffects(row, effects[0], effects[fastest], failed)


@dataclass(frozen=True)
class _Build:
    """A configuration's executable, and what the compiler made on the way.

    Args:
        elf: the executable.
        compiled: the kernel.
    """

    elf: ElfArtifact
    compiled: CompiledKernel


def _without_each(
    row: Row, config: Config, every: _Build, cycles: float, folder: Path
) -> tuple[dict[str, float], list[str]]:
    """For each pass or rule without which the code is another, the cycles over those with all; and
    a sentence for each without which there are none."""
    fired = [each.name for each in every.compiled.passes if each.count]
    effects, failed = {}, []
    for number, name in enumerate(fired):
        other = _build(row, config, name, folder / str(number))
        if isinstance(other, _Build) and other.compiled.object == every.compiled.object:
            continue
        without = other if isinstance(other, str) else _cycles(other)
        if isinstance(without, str):
            failed.append(f"{config} without {name} {without}")
        else:
            effects[name] = without / cycles
    return effects, failed


def _build(row: Row, config: Config, without: str, folder: Path) -> _Build | str:
    """A configuration without a pass or rule, or why there is none; with all of them where
    `without` is empty."""
    built, compiled = build_without(row.problem, config, [without], folder)
    if isinstance(built, BuildFailure) or compiled is None:
        return f"does not build: {getattr(built, 'reason', '')}"
    return _Build(built, compiled)


def _cycles(build: _Build) -> float | str:
    """Its cycles, or why there are none."""
    board = load_board("emulated")
    board.open()
    measurement = board.measure(build.elf, 1, LIMIT_S)
    if measurement.status != "correct":
        return f"is {measurement.status}: {measurement.reason}"
    return float(measurement.counters["u_mode_cycle"])


def _row_line(each: RowEffects) -> str:
    """The effects in a row's default and fastest configuration, and what failed in it."""
    names = dict.fromkeys((*each.default, *each.fastest))
    parts = [f"{n} {each.default.get(n, 1):.3f} {each.fastest.get(n, 1):.3f}" for n in names]
    shape = shape_text(each.row.problem.shape)
    line = f"{each.row.kernel} {each.row.dtype} {shape}: {', '.join(parts) or 'no effects'}"
    return "; ".join((line, *each.failed))


def _drawn_row(kernel: str) -> Row:
    """A kernel of bench_hand.py or of OTHERS with all of its configurations."""
    problem = Row(kernel).problem
    default = problem.default_config
    configs = problem.space(load_board("emulated").info).valid_configs()
    others = [[int(each[name]) for name in default] for each in configs if each != default]
    return Row(kernel, blocks=others)


_HEADER = """\
| pass or rule | configurations | rows | 3% slower without | kernels, files | least | most | mean |
|---|---|---|---|---|---|---|---|"""


def _line(name: str, configurations: str, effects: Sequence[_Effects]) -> str:
    ratios = [without[name] for _, without in effects if name in without]
    paid = [row for row, without in effects if without.get(name, 1) >= WORTH]
    kernels = {row.kernel for row in paid}
    files = {row.problem.spec.load_name.partition(":")[0] for row in paid}
    cells = [
        name,
        configurations,
        f"{len(ratios)}",
        f"{len(paid)}",
        f"{len(kernels)}, {len(files)}",
    ]
    ends = (min(ratios), max(ratios))
    mean = statistics.geometric_mean(ratios)
    cells += [*(f"{end:.2f}x" for end in ends), f"{mean:.3f}x"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print a line for each row as it is measured, then the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    what = "a kernel of those, or a file of your own, as FILE.py:KERNEL if it holds several"
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help=f"{what} (default: all)")
    given = parser.parse_args().kernels
    own = [_drawn_row(kernel) for kernel in given if is_kernel_file(kernel)]
    chosen = [kernel for kernel in given if not is_kernel_file(kernel)]
    listed = [*read_rows(), *PRODUCTS]
    drawn = [kernel for draw in (*DRAWS, *OTHERS) for kernel in drawn_kernels(draw)]
    check_chosen(parser, chosen, [*(row.kernel for row in listed), *drawn])
    rows = [row for row in listed if not given or row.kernel in chosen]
    rows += own + [_drawn_row(kernel) for kernel in drawn if not given or kernel in chosen]
    effects = []
    print("cycles without a pass or rule over cycles with all, all estimates of the emulated X60")
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for each in pool.map(effects_of, rows):
            effects.append(each)
            print(_row_line(each), flush=True)
    print(f"\n{len(rows)} rows, cycles without a pass or rule over cycles with all\n\n{_HEADER}")
    for name in skipped_names():
        for kind, ratios in (
            ("default", [each.default for each in effects]),
            ("fastest", [each.fastest for each in effects]),
        ):
            if any(name in each for each in ratios):
                print(_line(name, kind, list(zip(rows, ratios, strict=True))))


if __name__ == "__main__":
    run_script(main)
