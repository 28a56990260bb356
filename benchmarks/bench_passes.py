"""What each pass of the compiler is worth: python benchmarks/bench_passes.py [KERNEL ...]

Every row of `code_speed.toml` in its default configuration on the emulated X60, so all cycles are
estimates: with all passes, and without each of those that changed something.
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
from foundation.shapes import shape_text
from rvv_runner.devices import load_board
from triton_rvv.lowering import PASSES
from triton_rvv.pipeline import CompiledKernel, compile_kernel

__all__ = ["RowEffects", "effects_of"]

# A pass is to pay so much on at least two kernels of different files.
WORTH = 1.03


@dataclass(frozen=True)
class RowEffects:
    """A row's passes.

    Args:
        row: which it is.
        fired: how many places each pass changed.
        without: for each pass that changed some, the cycles without it over those with all.
    """

    row: Row
    fired: Mapping[str, int]
    without: Mapping[str, float]


def effects_of(row: Row) -> RowEffects:
    """Build and measure a row.

    Raises:
        SystemExit: for a kernel that does not build, or whose output is wrong.
    """
    every, fired = _cycles(row, ())
    without = {name: _cycles(row, (name,))[0] / every for name, count in fired.items() if count}
    return RowEffects(row, fired, without)


def _cycles(row: Row, skipped: Collection[str]) -> tuple[float, Mapping[str, int]]:
    """Cycles of a row without some passes, and how many places the others changed."""
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
        built = kernel_builder.KernelBuilder(request).build(problem.default_config)
        what = f"{row.kernel} without {', '.join(skipped) or 'nothing'}"
        if isinstance(built, BuildFailure):
            raise SystemExit(f"{what} does not build: {built.reason}")
        measurement = board.measure(built, 1, LIMIT_S)
        if measurement.status != "correct":
            raise SystemExit(f"{what} is {measurement.status}: {measurement.reason}")
        return measurement.counters["u_mode_cycle"], fired


_HEADER = """\
| pass | rows that it changes | 3% slower without | kernels, files | most | geometric mean |
|---|---|---|---|---|---|"""


def _line(name: str, effects: Sequence[RowEffects]) -> str:
    changed = [each for each in effects if name in each.without]
    paid = [each for each in changed if each.without[name] >= WORTH]
    kernels = {each.row.kernel for each in paid}
    files = {each.row.problem.spec.load_name.partition(":")[0] for each in paid}
    most = max(changed, key=lambda each: each.without[name], default=None)
    largest = "" if most is None else f"{most.without[name]:.2f}x {most.row.kernel}"
    mean = statistics.geometric_mean([each.without[name] for each in changed] or [1.0])
    cells = (
        *(name, f"{len(changed)}", f"{len(paid)}", f"{len(kernels)}, {len(files)}"),
        *(largest, f"{mean:.3f}x" if changed else ""),
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print a line for each row as it is measured, then the table."""
    rows = [row for row in read_rows() if not sys.argv[1:] or row.kernel in sys.argv[1:]]
    effects = []
    print("cycles without a pass over cycles with all, on one emulated X60 core, all estimates")
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for each in pool.map(effects_of, rows):
            effects.append(each)
            parts = (f"{name} {ratio:.3f}" for name, ratio in each.without.items())
            shape = shape_text(each.row.problem.shape)
            print(f"{each.row.kernel} {each.row.dtype} {shape}: {', '.join(parts)}", flush=True)
    print(f"\n{len(rows)} rows\n\n{_HEADER}")
    for each_pass in PASSES:
        print(_line(each_pass.name, effects))


if __name__ == "__main__":
    main()
