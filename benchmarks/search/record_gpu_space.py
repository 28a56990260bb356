"""Measures a kernel's space on a GPU, with a random part of what its rules forbid.

    python -m benchmarks.search.record_gpu_space matmul --dtype fp16 --shape M=64,N=8192,K=4096

One build serves every --shape with sizes divisible alike; the first one's rules count. Writes a
table in T4 for each shape to engine/replays/spaces/gpus, by which
tests/search_spaces/test_gpu_rules.py judges the rules. What takes all registers takes up to a
minute to build, so `--forbidden` is few. For a space that has grown, --add measures what the tables
lack.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path

import numpy as np

from engine.arguments.problem import shape_type
from engine.replays.shipped import SPACES
from engine.replays.space_file import Result, read_results, write_space
from engine.results.exports.t4 import INVALIDITY
from engine.workers.devices import load_board
from engine.workers.joint import JointMeasurement
from engine.workers.workbench import Workbench, workbench
from foundation.command_line import run_script
from foundation.config import Config
from foundation.processors import cores
from foundation.shapes import shape_text
from kernels.registry import load_kernel, make_problem
from kernels.spec import Problem
from rvv_runner.board import BoardInfo
from rvv_runner.measurement import Measurement
from search_spaces.space import SearchSpace

__all__ = ["main"]

RECORDED = SPACES / "gpus"

# By the problem's name.
Table = dict[Config, Result]
Tables = dict[str, Table]

_DEVICE = "cuda"
_REPEATS = 5
_LIMIT_S = 10.0


def main() -> int:
    """Record the space at each shape; what was measured is written even if it is ended early."""
    arguments = _parse()
    info = load_board(_DEVICE).info
    spec = load_kernel(arguments.kernel)
    problems = [make_problem(spec, shape, arguments.dtype) for shape in arguments.shape]
    earlier = _earlier if arguments.add else (lambda path: {})
    tables: Tables = {one.name: earlier(_path(one, info, arguments.out)) for one in problems}
    known = set.intersection(*(set(table) for table in tables.values()))
    drawn = _drawn(problems[0].space(info), arguments.forbidden)
    configs = [config for config in drawn if config not in known]
    first, *more = problems
    try:
        with workbench(
            first, [_DEVICE], info, jobs=arguments.jobs, repeats=_REPEATS, more_problems=more
        ) as bench:
            # Ray sets handlers of its own at its start.
            signal.signal(signal.SIGTERM, lambda *_: sys.exit("it was ended"))
            _measure_all(bench, problems, configs, tables, arguments.jobs)
    finally:
        for problem in problems:
            print(_written(problem, info, tables[problem.name], arguments.out))
    return 0


def _measure_all(
    bench: Workbench,
    problems: Sequence[Problem],
    configs: Sequence[Config],
    tables: Tables,
    jobs: int,
) -> None:
    """Fill the tables. A build that takes too long is a failure here as it is in a study."""
    start_s = time.monotonic()
    lanes = ThreadPoolExecutor(jobs + 1)
    try:
        measured = {lanes.submit(_measured, bench, problems, one): one for one in configs}
        for number, future in enumerate(as_completed(measured), start=1):
            _keep(future, measured[future], tables)
            if number % 100 == 0:
                took_s = time.monotonic() - start_s
                print(f"{number} of {len(configs)}, {took_s:.0f} s", flush=True)
    finally:
        lanes.shutdown(wait=False, cancel_futures=True)


def _measured(
    bench: Workbench, problems: Sequence[Problem], config: Config
) -> dict[str, Measurement]:
    """The outcome at each shape, by the problem's name; a failed build is one at every shape."""
    measurement, _ = bench.measure(config, _LIMIT_S * len(problems))
    if isinstance(measurement, JointMeasurement):
        by_shape = {shape_text(problem.shape): problem.name for problem in problems}
        return {by_shape[shape]: part for shape, part in measurement.parts.items()}
    return {problem.name: measurement for problem in problems}


def _keep(future: Future[dict[str, Measurement]], config: Config, tables: Tables) -> None:
    for name, measurement in future.result().items():
        if measurement.status != "board":
            tables[name][config] = Result(measurement.time_s, INVALIDITY[measurement.status])


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernel")
    parser.add_argument("--shape", type=shape_type, action="append", required=True)
    parser.add_argument("--dtype")
    parser.add_argument("--forbidden", type=int, default=100, help="so many of them, at random")
    parser.add_argument("--add", action="store_true", help="keep what the tables hold")
    parser.add_argument("--jobs", type=int, default=max(cores() - 1, 1))
    parser.add_argument("--out", type=Path, default=RECORDED)
    return parser.parse_args()


def _drawn(space: SearchSpace, forbidden: int) -> list[Config]:
    """Every valid configuration, in a random order, and then so many that rules forbid."""
    rng = np.random.default_rng(0)
    every = list(space.combinations())
    mixed = [every[place] for place in rng.permutation(len(every))]
    valid = [config for config in mixed if space.holds(config)]
    return valid + [config for config in mixed if not space.holds(config)][:forbidden]


def _path(problem: Problem, info: BoardInfo, folder: Path) -> Path:
    return folder / f"{problem.name}-{info.kind}.json.gz"


def _earlier(path: Path) -> Table:
    """What an earlier run measured; nothing if there was none."""
    return read_results(path)[1] if path.is_file() else {}


def _written(problem: Problem, info: BoardInfo, table: Table, folder: Path) -> Path:
    """Write the results, ordered by configuration."""
    path = _path(problem, info, folder)
    about = {
        "kernel": problem.spec.name,
        "shape": dict(problem.shape),
        "dtype": problem.dtype,
        "board": asdict(info),
        "default": dict(problem.space(info).default or {}),
    }
    write_space(path, about, dict(sorted(table.items(), key=lambda row: str(row[0]))))
    return path


if __name__ == "__main__":
    run_script(main)
