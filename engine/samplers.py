"""Samplers by name: each proposes what to try next, as one of Optuna's samplers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, TPESampler

from engine.candidates import Candidates
from engine.errors import UserError, nearest
from search_spaces.config import ParameterValue

__all__ = ["SAMPLERS", "SamplerFactory", "Situation", "sampler_named"]

# Trials that spread over the space before a model or a population takes over. Few, since budgets
# are 50 to 200; one for each parameter or so is what a first model needs.
_SPREAD_TRIALS = 10

# Candidates drawn for each trial of the spread start; the one farthest from all tried is taken.
# More would push every start into the corners of the space.
_SPREAD_DRAWS = 10

# Of the genetic algorithm. A population has to be far smaller than the budget.
_POPULATION = 6
_TOURNAMENT = 3
_STEP_CHANCE = 0.5


@dataclass(frozen=True)
class Situation:
    """What one proposal is made from.

    Args:
        candidates: the valid configurations.
        free: for each candidate whether it may still be proposed; at least one may.
        finished: candidates that were measured, by number, each with its time in seconds.
        rng: the source of chance.
    """

    candidates: Candidates
    free: npt.NDArray[np.bool_]
    finished: Sequence[tuple[int, float]]
    rng: np.random.Generator


Combination = Mapping[str, ParameterValue]
SamplerFactory = Callable[[Situation], BaseSampler]


class _Joint(BaseSampler):
    """An Optuna sampler that takes all parameters at once from a function of the situation."""

    def __init__(self, situation: Situation, choose: Callable[[Situation], Combination]) -> None:
        self._situation = situation
        self._choose = choose

    def infer_relative_search_space(self, *_: object) -> dict[str, BaseDistribution]:
        """All parameters."""
        return self._situation.candidates.distributions

    def sample_relative(self, *_: object) -> dict[str, Any]:
        """What the function says; it may be a combination that a rule forbids."""
        return dict(self._choose(self._situation))

    def sample_independent(self, *_: object) -> Any:
        """Never reached: no parameter is left over."""
        raise AssertionError("a parameter was left out of a proposal")


def _random(situation: Situation) -> Combination:
    """Uniform over the valid configurations not tried yet."""
    free = np.flatnonzero(situation.free)
    return situation.candidates.config(int(situation.rng.choice(free)))


def _grid(situation: Situation) -> Combination:
    """Every valid configuration, each time the one farthest from all that were taken before."""
    return situation.candidates.config(_farthest(situation, np.flatnonzero(situation.free)))


def _spread(situation: Situation) -> Combination:
    """Of a few free configurations, the one farthest from all that were taken before.

    This is Mitchell's best-candidate sampling (SIGGRAPH 1991) over the valid configurations.
    """
    free = np.flatnonzero(situation.free)
    drawn = situation.rng.choice(free, size=min(_SPREAD_DRAWS, len(free)), replace=False)
    return situation.candidates.config(_farthest(situation, drawn))


def _farthest(situation: Situation, numbers: npt.NDArray[np.int64]) -> int:
    """The one of these candidates that is farthest from its nearest taken one; the first of equals.

    Where none is taken yet, the one farthest from the middle.
    """
    points = situation.candidates.points
    taken = points[~situation.free]
    if len(taken) == 0:
        taken = points.mean(axis=0, keepdims=True)
    gap = np.full(len(numbers), np.inf)
    for point in taken:
        np.minimum(gap, ((points[numbers] - point) ** 2).sum(axis=1), out=gap)
    return int(numbers[int(gap.argmax())])


def _genetic(situation: Situation) -> Combination:
    """A steady-state genetic algorithm.

    The population is the best of all trials so far, so there is no generation to wait for and
    nothing to store: two parents are chosen by tournament and crossed uniformly, and each parameter
    is mutated with a chance that changes one on average.
    """
    best = sorted(situation.finished, key=lambda pair: pair[1])[:_POPULATION]
    if not best:
        return _random(situation)
    rng, space = situation.rng, situation.candidates.space
    parents = [
        situation.candidates.config(best[rng.integers(len(best), size=_TOURNAMENT).min()][0])
        for _ in range(2)
    ]
    child: dict[str, ParameterValue] = {}
    for parameter in space.parameters:
        value = parents[rng.integers(2)][parameter.name]
        mutates = rng.random() < 1 / len(space.parameters)
        child[parameter.name] = _mutated(value, parameter.values, rng) if mutates else value
    return child


def _mutated(
    value: ParameterValue, values: tuple[ParameterValue, ...], rng: np.random.Generator
) -> ParameterValue:
    """Mostly the value next to it, else any."""
    if rng.random() < _STEP_CHANCE:
        rank = values.index(value) + int(rng.choice((-1, 1)))
        return values[min(max(rank, 0), len(values) - 1)]
    return values[int(rng.integers(len(values)))]


def _tpe(situation: Situation) -> BaseSampler:
    """Optuna's tree-structured Parzen estimator, over all parameters together.

    Its constant liar, on by default, keeps proposals apart while earlier ones are being measured.
    """
    return TPESampler(seed=int(situation.rng.integers(2**32)), n_startup_trials=1)


def _chosen_by(choose: Callable[[Situation], Combination]) -> SamplerFactory:
    """A sampler from a function."""
    return lambda situation: _Joint(situation, choose)


def _after_spread(factory: SamplerFactory) -> SamplerFactory:
    """The same sampler, after a start that spreads over the valid configurations."""

    def make(situation: Situation) -> BaseSampler:
        tried = int((~situation.free).sum())
        return _Joint(situation, _spread) if tried < _SPREAD_TRIALS else factory(situation)

    return make


# A further sampler is one line here: any of Optuna's, or a function of the situation.
SAMPLERS: Mapping[str, SamplerFactory] = {
    "tpe": _after_spread(_tpe),
    "ga": _after_spread(_chosen_by(_genetic)),
    "grid": _chosen_by(_grid),
    "random": _chosen_by(_random),
}


def sampler_named(name: str) -> SamplerFactory:
    """The sampler with this name.

    Raises:
        UserError: where there is none; it names the nearest.
    """
    if name not in SAMPLERS:
        raise UserError(f"there is no sampler {name}: {nearest(name, SAMPLERS)}")
    return SAMPLERS[name]
