"""Generated code beside its bound and plain C:
python benchmarks/compiler/bench_code_speed.py [KERNEL ...]

On the emulated X60, so all cycles are estimates. Rows are in `code_speed.toml`, the bounds and what
they mean in `code_bounds.py`, the C code in `plain_kernels.c` and in what that includes.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench_hand import DRAWS, check_chosen
from code_bounds import bound_cycles
from plain_c import FLAG_SETS, PLAIN_KERNELS, build_plain_kernel

from engine.workers.artifacts import ArtifactStore, BuildFailure
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.command_line import run_script
from foundation.config import Config
from foundation.shapes import Shape, shape_text
from kernels.registry import load_kernel, make_problem
from kernels.spec import Problem
from rvv_runner import ElfArtifact
from rvv_runner.board import Board
from rvv_runner.devices import load_board
from rvv_runner.emulated.family import DEFAULT_MODEL

__all__ = ["LIMIT_S", "Row", "measured", "read_rows"]

LIMIT_S = 600.0
COMMON = (*sorted(Path(__file__).parent.glob("hand/common_*.py")), *DRAWS)


@dataclass(frozen=True)
class Row:
    """A kernel at one shape, and what to compare it with.

    Args:
        kernel, shape, dtype: the problem; the kernel's defaults where they are left out. A kernel
            that is not the project's is in one of the `hand/common_*.py` or of the draws of
            bench_hand.py.
        blocks: values of the default configuration's parameters, in their order.
        goal: the share of the bound to reach, where there is one.
        plain_c: whether the C code is measured, which takes long for large products.
        recorded: million cycles of other libraries, on an older model.
    """

    kernel: str
    shape: Shape = field(default_factory=dict)
    dtype: str = ""
    blocks: Sequence[Sequence[int]] = ()
    goal: float | None = None
    plain_c: bool = True
    recorded: Mapping[str, float] = field(default_factory=dict)

    @property
    def problem(self) -> Problem:
        file = _common_file(self.kernel)
        spec = load_kernel(self.kernel if file is None else f"{file}:{self.kernel}")
        return make_problem(spec, self.shape, self.dtype or spec.dtypes[0])

    @property
    def configs(self) -> list[Config]:
        """The default configuration, and those of `blocks`."""
        default = self.problem.default_config
        others = (Config(dict(zip(default, block, strict=True))) for block in self.blocks)
        return [default, *others]


def _common_file(kernel: str) -> Path | None:
    """The one of COMMON that defines the kernel, also where the project has one of that name."""
    files = (path for path in COMMON if f"\ndef {kernel}(" in path.read_text(encoding="utf-8"))
    return next(files, None)


@dataclass(frozen=True)
class Result:
    """Cycles of a row: of the default, and of the fastest configuration, also under each model."""

    row: Row
    default: float
    best: float
    best_models: Mapping[str, float]
    best_config: Config
    bound: float
    plain_c: float | None


def measured(row: Row) -> Result:
    """Build and measure everything of a row.

    Raises:
        SystemExit: for a kernel that does not build, or whose output is wrong.
    """
    problem = row.problem
    configs = row.configs
    board = load_board("emulated")
    board.open()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        request = BuildRequest(
            problem.spec.load_name,
            problem.shape,
            problem.dtype,
            board.info.target,
            ArtifactStore(folder),
        )
        builder = KernelBuilder(request)
        cycles = [_cycles(board, builder.build(config)) for config in configs]
        of_default = [each[DEFAULT_MODEL] for each in cycles]
        own_c = row.plain_c and row.kernel in PLAIN_KERNELS and not row.dtype
        c_cycles = [
            _cycles(board, build_plain_kernel(problem, flags, folder))[DEFAULT_MODEL]
            for flags in (FLAG_SETS if own_c else ())
        ]
    best = min(of_default)
    place = of_default.index(best)
    return Result(
        row=row,
        default=of_default[0],
        best=best,
        best_models=cycles[place],
        best_config=configs[place],
        bound=bound_cycles(problem),
        plain_c=min(c_cycles) if own_c else None,
    )


def _cycles(board: Board, built: ElfArtifact | BuildFailure) -> Mapping[str, float]:
    """The cycles under each model of the family, by its name."""
    if isinstance(built, BuildFailure):
        raise SystemExit(f"a kernel does not build: {built.reason}")
    measurement = board.measure(built, 1, LIMIT_S)
    if measurement.status != "correct":
        raise SystemExit(f"{built.elf_path} is {measurement.status}: {measurement.reason}")
    hertz = board.info.frequency_hz
    return {name: time_s * hertz for name, time_s in measurement.models_s.items()}


_HEADER = """\
| kernel, type, shape | default | best | without prefetches | worst of the family | blocks | bound \
| share | goal | plain C | C / best |
|---|---|---|---|---|---|---|---|---|---|---|"""


def _line(result: Result) -> str:
    row, problem = result.row, result.row.problem
    blocks = "x".join(str(value) for value in result.best_config.values())
    goal = "" if row.goal is None else f"{row.goal:.0%}"
    c_code = "" if result.plain_c is None else _thousands(result.plain_c)
    models = result.best_models
    faster = "" if result.plain_c is None else f"{result.plain_c / result.best:.2f}x"
    cells = (
        f"{row.kernel} {problem.dtype} {shape_text(problem.shape)}",
        *(_thousands(cycles) for cycles in (result.default, result.best)),
        *(_thousands(models["prefetch-ignored"]), _thousands(max(models.values()))),
        *(blocks, _thousands(result.bound), f"{result.bound / result.best:.0%}"),
        *(goal, c_code, faster),
    )
    return f"| {' | '.join(cells)} |"


def _recorded(row: Row) -> str:
    figures = ", ".join(f"{name} {cycles:g}" for name, cycles in row.recorded.items())
    return f"{shape_text(row.shape)}: {figures}"


def _thousands(cycles: float) -> str:
    return f"{cycles / 1e3:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="otherwise all")
    rows = read_rows()
    if chosen := parser.parse_args().kernels:
        check_chosen(parser, chosen, [row.kernel for row in rows])
        rows = [row for row in rows if row.kernel in chosen]
    print("thousand cycles on one emulated X60 core, all of them estimates")
    print(_HEADER, flush=True)
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for result in pool.map(measured, rows):
            print(_line(result), flush=True)
    if recorded := [row for row in rows if row.recorded]:
        print("\nrecorded, on an older model with faster caches, million cycles of fp32 matmul:")
        print("\n".join(map(_recorded, recorded)))


def read_rows() -> list[Row]:
    """The rows of `code_speed.toml`."""
    path = Path(__file__).with_name("code_speed.toml")
    document: dict[str, list[dict[str, Any]]] = tomllib.loads(path.read_text(encoding="utf-8"))
    return [Row(**row) for row in document["row"]]


if __name__ == "__main__":
    run_script(main)
