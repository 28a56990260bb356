"""Scores of replayed searches over spaces, with what chance leaves open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.replays.recorded_space import Floats, RecordedSpace
from engine.replays.runs import Run

__all__ = ["BUDGETS", "NEAR", "Band", "Scores", "band", "scores_of"]

BUDGETS = (10, 25, 50, 100, 200, 500, 1000)

# A search this near to the optimum, in parts of its time, has found what matters.
NEAR = 0.05

_DRAWS = 1000
_BAND = (2.5, 97.5)  # percent


@dataclass(frozen=True)
class Scores:
    """The scores of one search.

    Args:
        search: its name.
        by_trials: for each space, shape (seeds, trials), the part of the way from random search to
            the optimum after each trial.
        by_time: for each space with recorded costs, shape (seeds, points), the same at equidistant
            times; see `RecordedSpace.performance_by_time`.
        slowdowns: for each space, shape (seeds, trials), the best time so far over the optimum's.
        ask_s: processor time in seconds of a trial at the end, mean; None if unknown.
    """

    search: str
    by_trials: Mapping[str, Floats]
    by_time: Mapping[str, Floats]
    slowdowns: Mapping[str, Floats]
    ask_s: float | None

    def at(self, budget: int, space: str) -> Floats:
        """Shape (seeds,), P@budget of each seed on a space: the mean over the first trials."""
        result: Floats = self.by_trials[space][:, :budget].mean(axis=1)
        return result

    def mean(self, budget: int, spaces: Sequence[str]) -> tuple[float, float]:
        """P@budget, the mean over spaces, and its standard error over the seeds of each space."""
        return _mean_and_error([self.at(budget, space) for space in spaces])

    def median(self, budget: int) -> float:
        """P@budget, the median over all searches, which no bad one can outweigh."""
        return float(
            np.median(np.concatenate([self.at(budget, space) for space in self.by_trials]))
        )

    def near_optimum(self, budget: int) -> float:
        """The share of all searches that were within `NEAR` of the optimum after so many trials."""
        found = np.concatenate([curves[:, budget - 1] for curves in self.slowdowns.values()])
        return float((found <= 1 + NEAR).mean())

    def mean_by_time(self) -> tuple[float, float] | None:
        """The score by time, until random search has made its trials; None without costs."""
        each = [curves.mean(axis=1) for curves in self.by_time.values()]
        return _mean_and_error(each) if each else None


def _mean_and_error(of_each: Sequence[Floats]) -> tuple[float, float]:
    """The mean over spaces, and its standard error; an error of one seed is not a number."""
    variances = [
        values.var(ddof=1) / len(values) if len(values) > 1 else np.nan for values in of_each
    ]
    means = [float(values.mean()) for values in of_each]
    return float(np.mean(means)), float(np.sqrt(np.sum(variances)) / len(of_each))


def scores_of(
    search: str, runs: Mapping[str, Sequence[Run]], spaces: Mapping[str, RecordedSpace], trials: int
) -> Scores:
    """The scores of one search.

    Args:
        search: its name.
        runs: by space, one per seed.
        spaces: by name.
        trials: of each run.
    """
    by_trials, by_time, slowdowns = {}, {}, {}
    for name, each in runs.items():
        of = spaces[name]
        curves = np.array([of.best_so_far(run.tried, trials) for run in each])
        by_trials[name], slowdowns[name] = of.performance(curves), curves / of.optimum_s
        if of.mean_cost_s is not None:
            timed = [of.performance_by_time(run.tried, trials) for run in each]
            by_time[name] = np.array(timed)
    asks_s = [run.ask_s for each in runs.values() for run in each if run.ask_s is not None]
    ask_s = float(np.mean(asks_s)) if asks_s else None
    return Scores(search, by_trials, by_time, slowdowns, ask_s)


@dataclass(frozen=True)
class Band:
    """A mean curve with its 95% confidence band, each of shape (points,)."""

    mean: Floats
    low: Floats
    high: Floats


def band(of_each: Sequence[Floats]) -> Band:
    """The mean over spaces of the mean over seeds, by a bootstrap over the seeds of each space.

    Args:
        of_each: for each space, shape (seeds, points).
    """
    rng = np.random.default_rng(0)
    means = np.zeros((_DRAWS, of_each[0].shape[1]))
    for curves in of_each:
        seeds = len(curves)
        weights = rng.multinomial(seeds, np.full(seeds, 1 / seeds), size=_DRAWS) / seeds
        means += weights @ curves / len(of_each)
    low, high = np.percentile(means, _BAND, axis=0)
    return Band(np.mean([curves.mean(axis=0) for curves in of_each], axis=0), low, high)
