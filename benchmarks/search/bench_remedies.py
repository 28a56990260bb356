"""Remedies for what the search is bad at: python benchmarks/search/bench_remedies.py [--part PART].

Each remedy is replayed against the default search by the same seeds, on the recorded spaces with
200 configurations or more. It prints the change of P@10, P@25 and P@50 with its standard error over
spaces, and the space that loses most at P@25; where trials have recorded costs, the change of the
score by time as well. The remedies are searches of this file and no part of `auto`.
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt

from engine.replays.recorded_space import RecordedSpace
from engine.replays.shipped import PARTS, shipped_files
from engine.replays.space_file import read_space
from engine.search.model.candidates import Candidates
from engine.search.model.failures import Failures
from engine.search.model.search_state import SearchState
from engine.search.model.surrogate import Surrogate
from engine.search.samplers.bayesian import BayesianSearch
from foundation.command_line import run_script
from foundation.config import Config
from foundation.processors import cores
from search_spaces.space import SearchSpace

__all__ = ["main"]

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Costs = dict[int, float]

TRIALS = 50
BUDGETS = (10, 25, 50)
FEWEST = 200  # configurations of a space

# Trials without a gain, after which every second proposal is a neighbour of the best.
_PATIENCE = 3
# More codes than this are sizes, and two are a switch.
_CODES = range(3, 6)
# The part of all configurations that fails in `failing`.
_FAILING = 0.95
# A run that cannot win ends at so many times the best time, and a cost on Kernel Tuner's hub holds
# about so many runs.
_STOPPED_AT, _RUNS_IN_A_COST = 2.0, 33


class _SlowFailures(Failures):
    """Takes every failure for a slow time, whether failures follow a pattern or not."""

    def forget_random_ones(self, state: SearchState) -> SearchState:
        return state


class _Unforgetting(BayesianSearch):
    """The sampler with these failures."""

    def __init__(self, *, bowl: bool = False) -> None:
        super().__init__(bowl=bowl)
        self._failures = _SlowFailures()


class _CostAware(BayesianSearch):
    """Divides the expected improvement by the cost that a second process predicts.

    Args:
        costs_s: of what was tried, by its number; the replay adds to it.
    """

    def __init__(self, costs_s: Costs, *, bowl: bool = False) -> None:
        super().__init__(bowl=bowl)
        self._costs_s = costs_s
        self._of_costs = Surrogate()

    def _log_gain(self, state: SearchState, pool: Numbers) -> Floats:
        tried = np.log([self._costs_s[number] for number in state.training_set])
        middle, deviation = tried.mean(), max(tried.std(), 1e-9)

        def values(numbers: list[int]) -> Floats:
            result: Floats = (np.log([self._costs_s[n] for n in numbers]) - middle) / deviation
            return result

        expected, _ = self._of_costs(state, values, pool)
        result: Floats = super()._log_gain(state, pool) - deviation * expected
        return result


@dataclass(frozen=True)
class Remedy:
    """A changed search.

    Args:
        samplers: the two that take turns, given the costs of what was tried.
        beside: whether neighbours of the best are proposed when nothing is gained.
        coding: what the search sees of a configuration of a space.
    """

    samplers: Callable[[Costs], tuple[BayesianSearch, BayesianSearch]]
    beside: bool = False
    coding: Callable[[RecordedSpace, Config], Config] = lambda _, config: config


def _pair(made: Callable[..., BayesianSearch], _: Costs) -> tuple[BayesianSearch, BayesianSearch]:
    return made(), made(bowl=True)


def _cost_aware(costs_s: Costs) -> tuple[BayesianSearch, BayesianSearch]:
    return _CostAware(costs_s), _CostAware(costs_s, bowl=True)


def _with_names(of: RecordedSpace, config: Config) -> Config:
    """The same with small codes, as 0, 1 and 2 for three methods, written as names."""
    codes = {
        parameter.name
        for parameter in of.space.parameters
        if len(parameter.values) in _CODES
        and list(parameter.values) == list(range(len(parameter.values)))
    }
    return Config({key: f"#{value}" if key in codes else value for key, value in config.items()})


def _with_products(of: RecordedSpace, config: Config) -> Config:
    """The same and the product of each two sizes whose names differ in one letter, as x and y."""
    products = {}
    for one, other in itertools.combinations(config, 2):
        differing = sum(a != b for a, b in zip(one, other, strict=False))
        sizes = config[one], config[other]
        if len(one) == len(other) and differing == 1 and all(type(size) is int for size in sizes):
            products[f"{one} {other}"] = math.prod(cast("tuple[int, int]", sizes))
    return Config({**config, **products})


_DEFAULT = Remedy(partial(_pair, BayesianSearch))
REMEDIES: Mapping[str, Remedy] = {
    "auto": _DEFAULT,
    "cost": Remedy(_cost_aware),
    "beside": replace(_DEFAULT, beside=True),
    "named": replace(_DEFAULT, coding=_with_names),
    "products": replace(_DEFAULT, coding=_with_products),
    "unforgetting": Remedy(partial(_pair, _Unforgetting)),
}


def replay(of: RecordedSpace, name: str, seed: int) -> list[int]:
    """What a remedy tries, as numbers in `of.configs`."""
    remedy = REMEDIES[name]
    coded = {config: remedy.coding(of, config) for config in of.configs}
    candidates = Candidates(SearchSpace.from_configs(list(coded.values())))
    places = {candidates.number(config): place for place, config in enumerate(coded.values())}
    free = np.ones(len(candidates), dtype=bool)
    times_s: dict[int, float | None] = {}
    costs_s: Costs = {}
    level, bowl = remedy.samplers(costs_s)
    for taken in range(min(TRIALS, len(candidates))):
        rng = np.random.default_rng((seed, taken))
        state = SearchState(candidates, free, tuple(times_s), times_s, rng, seed)
        number = _beside(state) if remedy.beside else None
        if number is None:
            number = (bowl if taken % 2 else level)(state)
        config = of.configs[places[number]]
        free[number], times_s[number] = False, of.table[config]
        costs_s[number] = of.costs_s.get(config, 1.0)
    return [places[number] for number in times_s]


def _beside(state: SearchState) -> int | None:
    """A free neighbour of the best, every second time after trials without a gain."""
    best = state.fastest(1)
    waited = len(state.taken) - 1 - list(state.taken).index(best[0]) if best else 0
    if waited < _PATIENCE or len(state.taken) % 2:
        return None
    near = state.candidates.neighbours(best[0])
    near = near[state.free[near]]
    return int(state.rng.choice(near)) if len(near) else None


def failing(of: RecordedSpace) -> RecordedSpace:
    """The space with all but one configuration in twenty failing at random."""
    draw = random.Random(f"{_FAILING} {of.name}")
    kept = {config: t if draw.random() > _FAILING else None for config, t in of.table.items()}
    return replace(of, table=kept, name=f"failing {of.name}")


def stopping(of: RecordedSpace, tried: Sequence[int]) -> float | None:
    """What ending runs that cannot win adds to the score by time."""
    whole = of.performance_by_time(tried, TRIALS)
    if whole is None:
        return None
    costs_s, best_s = dict(of.costs_s), of.worst_s
    for number in tried:
        config = of.configs[number]
        time_s = of.table[config]
        if time_s is not None:
            beyond_s = max(time_s - _STOPPED_AT * best_s, 0.0)
            costs_s[config] = max(costs_s[config] - _RUNS_IN_A_COST * beyond_s, 0.0)
            best_s = min(best_s, time_s)
    # Random search goes on at what its trials cost.
    mean_s, sooner = of.mean_cost_s, replace(of, costs_s=costs_s)
    assert mean_s is not None
    sooner.__dict__["mean_cost_s"] = mean_s
    ended = sooner.performance_by_time(tried, TRIALS)
    assert ended is not None
    return float(ended.mean() - whole.mean())


def measured(path: Path, name: str, seed: int) -> tuple[list[float], float | None, float | None]:
    """Scores of one search at `BUDGETS`, by time, and what stopping runs would add to that."""
    of = read_space(path)
    of = failing(of) if name.startswith("failing ") else of
    tried = replay(of, name.removeprefix("failing "), seed)
    scores = of.scores(of.best_so_far(tried, TRIALS)[None])[0, [budget - 1 for budget in BUDGETS]]
    by_time = of.performance_by_time(tried, TRIALS)
    return scores.tolist(), None if by_time is None else float(by_time.mean()), stopping(of, tried)


def _row(change: Floats) -> str:
    """Shape (spaces, seeds, budgets): the mean with its error over spaces."""
    each = change.mean(axis=1)
    errors = each.std(axis=0, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else each[0] * np.nan
    return ", ".join(f"{m:.2f} ({e:.2f})" for m, e in zip(each.mean(axis=0), errors, strict=True))


def main() -> None:
    """Replay and print."""
    parser = argparse.ArgumentParser(description="Replays remedies against the default search.")
    parser.add_argument("--part", choices=PARTS, default="development")
    parser.add_argument("--remedies", default="cost,beside,named,products")
    parser.add_argument("--failing", action="store_true", help="let 95%% fail at random")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    arguments = parser.parse_args()
    every = shipped_files(arguments.part)
    paths = [path for path in every if len(read_space(path).table) >= FEWEST]
    mark = "failing " if arguments.failing else ""
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    found = {}
    with ProcessPoolExecutor(cores()) as pool:
        for name in ["auto", *arguments.remedies.split(",")]:
            jobs = [(path, mark + name, seed) for path in paths for seed in seeds]
            results = list(pool.map(measured, *zip(*jobs, strict=True)))
            found[name] = [results[i : i + len(seeds)] for i in range(0, len(jobs), len(seeds))]
            _print(name, paths, found[name], found["auto"])


def _print(name: str, paths: Sequence[Path], each: Sequence, base: Sequence) -> None:
    """One line of a remedy; of the default its scores, and what stopping runs would add."""
    scores = np.array([[one[0] for one in of] for of in each])
    if name != "auto":
        scores -= np.array([[one[0] for one in of] for of in base])
    worst = int(scores.mean(axis=1)[:, 1].argmin())
    line = f"{name}\t{_row(scores)}\tworst {scores.mean(axis=1)[worst, 1]:.2f} {paths[worst].name}"
    timed = [place for place, of in enumerate(each) if of[0][1] is not None]
    if timed:
        by_time = np.array([[[one[1]] for one in each[place]] for place in timed])
        if name != "auto":
            by_time -= np.array([[[one[1]] for one in base[place]] for place in timed])
        line += f"\tby time {_row(by_time)}"
        if name == "auto":
            stopped = np.array([[[one[2]] for one in each[place]] for place in timed])
            line += f"\tstopping adds {_row(stopped)}"
    print(line, flush=True)


if __name__ == "__main__":
    run_script(main)
