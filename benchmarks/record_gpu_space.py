"""Measures a random part of a kernel's space on a GPU, with what its rules forbid.

    python -m benchmarks.record_gpu_space matmul --dtype fp16 --shape M=64,N=8192,K=4096

One build serves every --shape with sizes divisible alike. Writes a table for each shape to
benchmarks/recorded/gpu, which tests/search_spaces/test_gpu_rules.py judges the rules by.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from engine.arguments.problem import shape_type
from foundation.config import Config
from foundation.processors import cores
from gpu_runner.artifact import GpuArtifact
from gpu_runner.board import GpuBoard
from gpu_runner.compile import GpuCompileError, KernelInput, compile_kernel, kernel_input
from gpu_runner.detect import target_of
from gpu_runner.names import GpuName
from gpu_runner.target import GpuTarget
from kernels.on_device import ProblemArguments, without_contents
from kernels.registry import load_kernel, make_problem
from kernels.spec import Problem
from rvv_runner.measurement import Measurement
from search_spaces.space import SearchSpace

__all__ = ["main"]

RECORDED = Path(__file__).parent / "recorded" / "gpu"

# By the problem's name.
Tables = dict[str, dict[Config, Measurement]]

_REPEATS = 5
_LIMIT_S = 10.0


@dataclass(frozen=True)
class _Build:
    """A configuration's machine code, and what it was made from."""

    made_from: KernelInput
    artifact: GpuArtifact


def main() -> int:
    """Record the space at each shape; what was measured is written even if it is ended early."""
    arguments = _parse()
    board = GpuBoard(GpuName("cuda"))
    spec = load_kernel(arguments.kernel)
    problems = [make_problem(spec, shape, arguments.dtype) for shape in arguments.shape]
    configs = _drawn(problems[0].space(board.info), arguments.configs)
    tables: Tables = {problem.name: {} for problem in problems}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("it was ended"))
    board.open()
    try:
        _measure_all(board, problems, configs, tables, arguments.jobs)
    finally:
        for problem in problems:
            print(_written(problem, board.info.kind, tables[problem.name], arguments.out))
        board.close()
    return 0


def _measure_all(
    board: GpuBoard,
    problems: Sequence[Problem],
    configs: Sequence[Config],
    tables: Tables,
    jobs: int,
) -> None:
    """Fill the tables; builds run in processes of their own, and serve every shape."""
    target, source = target_of(board.info), ProblemArguments.of(problems[0])
    start_s = time.monotonic()
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        builds = [pool.submit(_built, source, config, target) for config in configs]
        for number, future in enumerate(as_completed(builds)):
            config, build = future.result()
            for problem in problems:
                tables[problem.name][config] = _measured(board, problem, config, build, target)
            if number % 10 == 0:
                print(f"{number} of {len(builds)}, {time.monotonic() - start_s:.0f} s", flush=True)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernel")
    parser.add_argument("--shape", type=shape_type, action="append", required=True)
    parser.add_argument("--dtype")
    parser.add_argument("--configs", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=cores())
    parser.add_argument("--out", type=Path, default=RECORDED)
    return parser.parse_args()


def _drawn(space: SearchSpace, count: int) -> list[Config]:
    """Combinations of the space, at random, forbidden ones too."""
    every = list(space.combinations())
    chosen = np.random.default_rng(0).permutation(len(every))[:count]
    return [every[place] for place in chosen]


def _built(
    source: ProblemArguments, config: Config, target: GpuTarget
) -> tuple[Config, _Build | str]:
    """The machine code, or why there is none; runs in a process of its own."""
    problem = source.problem
    made_from = _made_from(problem, config, target)
    try:
        compiled = compile_kernel(problem.spec.kernel, made_from, target)
    except GpuCompileError as error:
        return config, str(error)
    artifact = GpuArtifact(
        target=target,
        name=f"{problem.spec.name}_kernel",
        binary=compiled.binary,
        metadata=compiled.metadata,
        signature=made_from.signature,
        constants=made_from.constants,
        grid=(1, 1, 1),
        config=config,
        source=source,
        sha256=str(hash(compiled.binary)),
        path=Path(),
    )
    return config, _Build(made_from, artifact)


def _made_from(problem: Problem, config: Config, target: GpuTarget) -> KernelInput:
    arguments = without_contents(problem, config)
    constants, options = problem.constants(config), problem.launch_options(config)
    return kernel_input(problem.spec.kernel, arguments, constants, options, target)


def _measured(
    board: GpuBoard, problem: Problem, config: Config, build: _Build | str, target: GpuTarget
) -> Measurement:
    if isinstance(build, str):
        return Measurement("compile", reason=build)
    assert _made_from(problem, config, target) == build.made_from, "the shapes need other builds"
    artifact = replace(
        build.artifact,
        grid=problem.spec.grid(problem, config),
        source=ProblemArguments.of(problem),
    )
    return board.measure(artifact, _REPEATS, _LIMIT_S)


def _written(problem: Problem, kind: str, table: dict[Config, Measurement], folder: Path) -> Path:
    """Write one row per configuration: its values, its time in seconds or None, its status."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{problem.name}-{kind}.json"
    names = list(next(iter(table)))
    head = {
        "kernel": problem.spec.name,
        "shape": dict(problem.shape),
        "dtype": problem.dtype,
        "device": kind,
        "parameters": names,
    }
    rows = ",\n".join(map(json.dumps, _rows(names, table)))
    path.write_text(f'{json.dumps(head)[:-1]}, "rows": [\n{rows}\n]}}\n')
    return path


def _rows(names: Sequence[str], table: dict[Config, Measurement]) -> Iterator[list[object]]:
    for config, found in sorted(table.items(), key=lambda row: str(row[0])):
        yield [*(config[name] for name in names), found.time_s, found.status]


if __name__ == "__main__":
    sys.exit(main())
