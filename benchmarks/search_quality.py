"""Compares searches on whole spaces: python benchmarks/search_quality.py.

The spaces are made up (`made_up_spaces.py`) or were recorded by this project. For each search and
family of spaces it prints the performance score after 25, 50, 100 and 200 trials: 0 is random
search, 1 the optimum at once. Searches are samplers of this project and rivals: `smac` and `lfbo`
(`forest_rivals.py`), Optuna's own samplers by their dotted names, and strategies of Kernel Tuner as
`kernel_tuner:pso` (`kernel_tuner_rival.py`).

With SCORE_PY and SPACES another tool scores instead: one that replays a folder of recorded spaces
for an optimiser given as `module:factory`. This file has a factory for each search, such as
`search_quality:auto`.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from forest_rivals import ForestSearch, NeighbourSearch
from kernel_tuner_rival import kernel_tuner_times
from made_up_spaces import FAMILIES
from replays import Replay, made_up, recorded

from engine.search import Search
from engine.search.model.warm_start import History
from engine.search.samplers.registry import SAMPLERS
from foundation.config import Config, ParameterValue
from search_spaces.space import SearchSpace

__all__ = ["main"]

BUDGETS = (25, 50, 100, 200)

REAL = "recorded"
KERNEL_TUNER = "kernel_tuner:"


class Optimiser(Protocol):
    """A search with the methods that are called here and by the other tool."""

    def ask(self) -> Config | None: ...

    def tell(self, config: Mapping[str, ParameterValue], seconds: float | None) -> None: ...


class RecordedSpace(Protocol):
    """What the other tool passes to a factory."""

    def valid_configs(self) -> list[dict[str, ParameterValue]]: ...


def optimiser(name: str, space: SearchSpace, seed: int, history: History = ()) -> Optimiser:
    """A new search by its name."""
    if name == "smac":
        return ForestSearch(space, seed)
    if name == "lfbo":
        return NeighbourSearch(space, seed)
    return Search(space, name, seed, history=history)


def __getattr__(name: str) -> Callable[[RecordedSpace, int], Optimiser]:
    """The factory of the search with this name, for the other tool."""
    if name not in (*SAMPLERS, "smac", "lfbo"):
        raise AttributeError(name)
    return lambda space, seed: optimiser(
        name, SearchSpace.from_configs(space.valid_configs()), seed
    )


def replay(name: str, of: Replay, seed: int, trials: int) -> list[float]:
    """The best time in seconds after each trial of one search."""
    if name.startswith(KERNEL_TUNER):
        times = kernel_tuner_times(of.table, name.removeprefix(KERNEL_TUNER), seed, trials)
    else:
        times = []
        search = optimiser(name, of.space, seed)
        while len(times) < trials and (config := search.ask()) is not None:
            times.append(of.table[config])
            search.tell(config, times[-1])
    known = [of.worst_s if time_s is None else time_s for time_s in times]
    curve = list(itertools.accumulate([of.worst_s, *known], min))[1:]
    return curve + [min([of.worst_s, *known])] * (trials - len(curve))


def compare(name: str, replays: Sequence[Replay], seeds: int, trials: int) -> None:
    """Print a line for each family, and one for all spaces.

    The standard error is over the seeds of each space: the spaces are the same for all searches.
    """
    budgets = [budget for budget in BUDGETS if budget <= trials]
    start_s = time.process_time()
    scores = {
        of.name: of.scores([replay(name, of, seed, trials) for seed in range(seeds)])
        for of in replays
    }
    cpu_s = (time.process_time() - start_s) / (len(replays) * seeds * trials)
    families = {of.family: [r.name for r in replays if r.family == of.family] for of in replays}
    for family, names in [*families.items(), ("all spaces", [of.name for of in replays])]:
        cells = []
        for budget in budgets:
            after = np.array([scores[of][:, budget - 1] for of in names])
            error = np.sqrt((after.var(axis=1, ddof=min(1, seeds - 1)) / seeds).sum()) / len(names)
            cells.append(f"{after.mean():6.2f} ({error:.2f})")
        print(f"{name:28} {family:16}", *cells, flush=True)
    print(f"{name:28} {cpu_s * 1e3:.1f} ms of processor time per trial", flush=True)


def score_elsewhere(sampler: str, arguments: argparse.Namespace) -> bool:
    """Run the other tool for one sampler and print its summary; whether it succeeded."""
    here = Path(__file__).resolve()
    paths = [str(here.parent), str(here.parents[1]), os.environ.get("PYTHONPATH", "")]
    command = [sys.executable, "-B", arguments.score_py, "--blind"]
    module = sampler if ":" in sampler else f"{here.stem}:{sampler}"
    command += ["--optimiser", module, "--spaces", arguments.spaces]
    command += ["--budget", str(arguments.trials), "--seeds", str(arguments.seeds)]
    command += ["--jobs", str(arguments.jobs)]
    result = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    print(f"{sampler}:", *result.stdout.splitlines(), sep="\n  ", flush=True)
    return result.returncode == 0


def parse() -> argparse.Namespace:
    """The arguments."""
    parser = argparse.ArgumentParser(description="Compares searches on whole spaces.")
    parser.add_argument("score_py", type=Path, nargs="?", help="another tool that replays spaces")
    parser.add_argument("spaces", type=Path, nargs="?", help="its folder of recorded spaces")
    parser.add_argument(
        "--samplers",
        default="auto,gp,tpe,ga",
        help="names, separated by commas; with SCORE_PY also module:factory",
    )
    parser.add_argument(
        "--families",
        default=",".join([*FAMILIES, REAL]),
        help=f"of made-up spaces, and {REAL} for all recorded ones, separated by commas",
    )
    parser.add_argument("--per-family", type=int, default=2, help="spaces in a made-up family")
    parser.add_argument("--trials", "--budget", type=int, default=100, help="configurations to try")
    parser.add_argument("--seeds", type=int, default=5, help="searches per space")
    parser.add_argument("--jobs", type=int, default=1, help="parallel runs of the other tool")
    return parser.parse_args()


def main() -> int:
    """Print the scores of each sampler; returns 1 if the other tool failed for any."""
    arguments = parse()
    names = arguments.samplers.split(",")
    if arguments.spaces is not None:
        failed = [name for name in names if not score_elsewhere(name, arguments)]
        return 1 if failed else 0
    families = arguments.families.split(",")
    replays = made_up([f for f in families if f != REAL], arguments.per_family)
    if REAL in families:
        replays += recorded(2 * arguments.trials)  # of smaller ones, most would be tried
    budgets = [budget for budget in BUDGETS if budget <= arguments.trials]
    print(f"{'search':28} {'family':16}", *[f"{'P@' + str(b):>13}" for b in budgets])
    for name in names:
        compare(name, replays, arguments.seeds, arguments.trials)
    return 0


if __name__ == "__main__":
    sys.exit(main())
