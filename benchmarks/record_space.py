"""Measures every valid configuration of a kernel: python benchmarks/record_space.py KERNEL.

It takes about a second per configuration and core, resumes if it was stopped, and writes the table
that `bench_optimum.py` replays to `benchmarks/recorded`. With `--trials` it measures a random
sample, for a space that would take too long.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from engine.arguments.problem import shape_type
from engine.results.progress import progress_on
from engine.run.identity import identity_of
from engine.run.request import SearchOptions, StudyOptions, TuningRequest, WorkOptions
from engine.run.tuning import tune
from engine.study.location import DEFAULT_STORAGE
from engine.study.storage import open_study
from engine.study.trials import StoredTrials
from foundation.config import Config
from foundation.processors import cores
from kernels.registry import load_kernel, make_problem
from rvv_runner.devices import load_board
from search_spaces.enumeration import take_census

__all__ = ["main", "table_of"]

RECORDED = Path(__file__).parent / "recorded"


def table_of(stored: StoredTrials, default: Config, size: int) -> dict[str, object]:
    """A study as a table with a row per configuration: its values, then its time.

    Times are in seconds, None for a failure. Code sizes are in bytes, in the order of the rows.

    Args:
        stored: a study in which every configuration was tried, or a random sample of them.
        default: what a user would run without tuning.
        size: how many configurations are valid.
    """
    about = ("kernel", "shape", "dtype", "device", "made_with")
    tried = [trial for trial in stored.changes() if trial.has_outcome]
    names = list(tried[0].config)
    tried.sort(key=lambda trial: [trial.config[name] for name in names])
    rows = [[*(trial.config[name] for name in names), trial.time_s] for trial in tried]
    described = {name: stored.attribute(name) for name in about}
    described["default"] = dict(default)
    described["valid_configurations"] = size
    described["code_bytes"] = [trial.code_bytes for trial in tried]
    return {**described, "parameters": names, "rows": rows}


def write(table: dict[str, object], name: str) -> Path:
    """Write one row per line, so that a diff shows what changed when it is recorded again."""
    head = {key: value for key, value in table.items() if key != "rows"}
    rows = table["rows"]
    assert isinstance(rows, list)
    lines = ",\n".join(json.dumps(row) for row in rows)
    path = RECORDED / f"{name}.json"
    path.write_text(f'{json.dumps(head)[:-1]}, "rows": [\n{lines}\n]}}\n')
    return path


def main() -> int:
    """Record a space."""
    parser = argparse.ArgumentParser(description="Measures every configuration of a kernel.")
    parser.add_argument("kernel")
    parser.add_argument("--shape", type=shape_type, default={})
    parser.add_argument("--device", default="emulated")
    parser.add_argument("--trials", type=int, help="a random sample of so many configurations")
    parser.add_argument("--jobs", type=int, default=cores())
    arguments = parser.parse_args()
    request = TuningRequest(
        kernel=arguments.kernel,
        shapes=(arguments.shape,),
        devices=(arguments.device,),
        search=SearchOptions(sampler="random", trials=arguments.trials),
        study=StudyOptions(use_history=False),
        work=WorkOptions(jobs=arguments.jobs),
    )
    with progress_on(sys.stderr) as progress:
        result = tune(request, [progress])
    if result.ended.reason not in ("exhausted", "trials"):
        print(f"ended early ({result.ended.reason}): the same command resumes", file=sys.stderr)
        return 1
    problem = make_problem(load_kernel(arguments.kernel), arguments.shape, None)
    info = load_board(arguments.device).info
    identity = identity_of(problem, info, "random")
    space = problem.space(info)
    stored = open_study(DEFAULT_STORAGE, identity, space)
    print(write(table_of(stored, problem.default_config, take_census(space).valid), problem.name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
