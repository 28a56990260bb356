"""What each pass of the compiler is worth: python benchmarks/pass_effects.py [KERNEL ...]

Every row of `code_speed.toml` on the emulated X60, so all cycles are estimates: with all passes,
and without each of those that changed something. Of a row's configurations, the default and the one
that is fastest with all passes are measured. It takes half an hour on two cores.
"""

from __future__ import annotations

import functools
import os
import statistics
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from bench_code_speed import LIMIT_S, Row, read_rows

from engine.workers import kernel_builder
from engine.workers.artifacts import ArtifactStore, BuildFailure
from foundation.config import Config
from foundation.shapes import shape_text
from rvv_runner.devices import load_board
from triton_rvv.lowering import PASSES
from triton_rvv.pipeline import CompiledKernel, compile_kernel

__all__ = ["RowEffects", "effects_of"]

# A row, and for each pass the cycles without it over those with all.
_Effects = tuple[Row, Mapping[str, float]]

# A pass is to pay so much on at least two kernels of different files.
WORTH = 1.03


@dataclass(frozen=True)
class RowEffects:
    """A row's passes.

    Args:
        row: which it is.
        default: for each pass that changed something in the default configuration, the cycles
            without it over those with all.
        fastest: the same in the fastest configuration.
    """

    row: Row
    default: Mapping[str, float]
    fastest: Mapping[str, float]


def effects_of(row: Row) -> RowEffects:
    """Build and measure a row.

    Raises:
        SystemExit: for a kernel that does not build, or whose output is wrong.
    """
    default, *others = row.configs
    effects = {default: _without_each(row, default)}
    fastest = min([default, *others], key=lambda config: _cycles(row, config, ())[0])
    if fastest != default:
        effects[fastest] = _without_each(row, fastest)
    return RowEffects(row, effects[default], effects[fastest])


def _without_each(row: Row, config: Config) -> dict[str, float]:
    every, fired = _cycles(row, config, ())
    names = [name for name, count in fired.items() if count]
    return {name: _cycles(row, config, (name,))[0] / every for name in names}


def _cycles(row: Row, config: Config, skipped: Collection[str]) -> tuple[float, Mapping[str, int]]:
    """Cycles of a configuration without some passes, and how many places the others changed."""
    problem, fired = row.problem, dict[str, int]()

    compiling = functools.partial(compile_kernel, skipped_passes=skipped)

    def compiled(*arguments: Any, **options: Any) -> CompiledKernel:
        made = compiling(*arguments, **options)
        fired.update((each.name, each.count) for each in made.passes)
        return made

    board = load_board("emulated")
    board.open()
    with (
        tempfile.TemporaryDirectory() as name,
        mock.patch.object(kernel_builder, "compile_kernel", compiled),
    ):
        folder = Path(name).resolve()
        request = kernel_builder.BuildRequest(
            problem.spec.load_name,
            problem.shape,
            problem.dtype,
            board.info.target,
            ArtifactStore(folder),
        )
        built = kernel_builder.KernelBuilder(request).build(config)
        what = f"{row.kernel} without {', '.join(skipped) or 'nothing'}"
        if isinstance(built, BuildFailure):
            raise SystemExit(f"{what} does not build: {built.reason}")
        measurement = board.measure(built, 1, LIMIT_S)
        if measurement.status != "correct":
            raise SystemExit(f"{what} is {measurement.status}: {measurement.reason}")
        return measurement.counters["u_mode_cycle"], fired


_HEADER = """\
| pass | configurations | rows | 3% slower without | kernels, files | least | most | mean |
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
    if not ratios:
        cells += ["", "", ""]
    else:
        ends = (min(ratios), max(ratios))
        mean = statistics.geometric_mean(ratios)
        cells += [*(f"{end:.2f}x" for end in ends), f"{mean:.3f}x"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print a line for each row as it is measured, then the table."""
    rows = [row for row in read_rows() if not sys.argv[1:] or row.kernel in sys.argv[1:]]
    effects = []
    print("cycles without a pass over cycles with all, on one emulated X60 core, all estimates")
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for each in pool.map(effects_of, rows):
            effects.append(each)
            parts = (
                f"{name} {each.default.get(name, 1):.3f} {each.fastest.get(name, 1):.3f}"
                for name in dict.fromkeys((*each.default, *each.fastest))
            )
            shape = shape_text(each.row.problem.shape)
            print(f"{each.row.kernel} {each.row.dtype} {shape}: {', '.join(parts)}", flush=True)
    print(f"\n{len(rows)} rows, cycles without a pass over cycles with all\n\n{_HEADER}")
    for each_pass in PASSES:
        for kind, ratios in (
            ("default", [each.default for each in effects]),
            ("fastest", [each.fastest for each in effects]),
        ):
            print(_line(each_pass.name, kind, list(zip(rows, ratios, strict=True))))


if __name__ == "__main__":
    main()
