"""Samplers by name: each proposes what to try next, as one of Optuna's samplers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, TPESampler

from engine.encoding import Encoding
from engine.errors import UserError, nearest
from engine.evolution_strategy import evolution_strategy
from engine.optuna_samplers import imported_sampler, sees_ranks
from engine.pareto_search import ParetoSearch
from engine.situation import Situation
from engine.spread import farthest, spread
from engine.surrogate import SurrogateSearch
from search_spaces.config import ParameterValue

__all__ = ["SAMPLERS", "Sampler", "SamplerFactory", "sampler_named"]

# Trials that spread over the space before a model or a population takes over. Few, since budgets
# are 50 to 200; one for each parameter or so is what a first model needs.
_SPREAD_TRIALS = 10

# Of the genetic algorithm. A population has to be far smaller than the budget.
_POPULATION = 6
_TOURNAMENT = 3
_STEP_CHANCE = 0.5

# Of `auto`: one proposal of so many is TPE's. Where one model is misled the other is not, and each
# learns from what the other tried.
_TURNS = 3

# Up to so many trials. TPE's cost grows with them, and near the optimum it mostly asks for what was
# tried.
_TURNS_END = 300

# Where a history leads to expect something, the turns between so many trials are those of a model
# that does not know of it: it may mislead, and TPE has too few trials of its own to learn from.
_COLD_TURNS = range(5, 25)

# Samplers with a model of the history; the others only try its quickest.
_WITH_SOURCE = ("auto", "gp")

Combination = Mapping[str, ParameterValue]
SamplerFactory = Callable[[Situation], BaseSampler]


@dataclass(frozen=True)
class Sampler:
    """What proposes.

    Args:
        make: makes one of Optuna's samplers for one proposal.
        sees_ranks: whether ordered parameters are numbers to it, as of `Encoding`.
        sees_source: whether it asks what a history leads to expect.
    """

    make: SamplerFactory
    sees_ranks: bool = False
    sees_source: bool = False


class _Joint(BaseSampler):
    """An Optuna sampler that takes all parameters at once from a function of the situation."""

    def __init__(self, situation: Situation, choose: Callable[[Situation], Combination]) -> None:
        self._situation = situation
        self._choose = choose

    def infer_relative_search_space(self, *_: object) -> dict[str, BaseDistribution]:
        """All parameters."""
        return Encoding(self._situation.candidates.space).distributions

    def sample_relative(self, *_: object) -> dict[str, Any]:
        """What the function says; it may be a combination that a rule forbids."""
        return dict(self._choose(self._situation))

    def sample_independent(self, *_: object) -> Any:
        """Never reached: no parameter is left over."""
        raise AssertionError("a parameter was left out of a proposal")


def _random(situation: Situation) -> int:
    """Uniform over the valid configurations not tried yet."""
    free = np.flatnonzero(situation.free)
    return int(situation.rng.choice(free))


def _grid(situation: Situation) -> int:
    """Every valid configuration, each time the one farthest from all that were taken before."""
    return farthest(situation, np.flatnonzero(situation.free))


def _genetic(situation: Situation) -> Combination:
    """A steady-state genetic algorithm.

    The population is the best of all trials so far, so there is no generation to wait for and
    nothing to store: two parents are chosen by tournament and crossed uniformly, and each parameter
    is mutated with a chance that changes one on average.
    """
    best = situation.quickest(_POPULATION)
    if not best:
        return situation.candidates.config(_random(situation))
    rng, space = situation.rng, situation.candidates.space
    parents = [
        situation.candidates.config(best[rng.integers(len(best), size=_TOURNAMENT).min()])
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


class _TPE(TPESampler):
    """Optuna's tree-structured Parzen estimator, over all parameters together.

    Its constant liar, on by default, keeps proposals apart while earlier ones are being measured.
    """

    def __init__(self, situation: Situation) -> None:
        super().__init__(seed=int(situation.rng.integers(2**32)), n_startup_trials=1)
        parameters = Encoding(situation.candidates.space).distributions
        self._varied = {name: of for name, of in sorted(parameters.items()) if not of.single()}

    def infer_relative_search_space(self, *_: object) -> dict[str, BaseDistribution]:
        """All parameters that vary; to find that out from all trials takes longer than the rest."""
        return self._varied


def _tpe(situation: Situation) -> BaseSampler:
    return _TPE(situation)


def _combined_by(choose: Callable[[Situation], Combination]) -> SamplerFactory:
    """A sampler from a function that gives values for all parameters."""
    return lambda situation: _Joint(situation, choose)


def _chosen_by(choose: Callable[[Situation], int]) -> SamplerFactory:
    """A sampler from a function that gives the number of a candidate."""
    return _combined_by(lambda situation: situation.candidates.config(choose(situation)))


def _after_spread(factory: SamplerFactory) -> SamplerFactory:
    """The same sampler, after a start that spreads over the valid configurations."""
    spreading = _chosen_by(spread)
    return lambda situation: (
        spreading(situation) if len(situation.taken) < _SPREAD_TRIALS else factory(situation)
    )


def _taking_turns(often: SamplerFactory, seldom: SamplerFactory) -> SamplerFactory:
    """Two samplers that learn from all trials: at first every third proposal is the second's."""

    def make(situation: Situation) -> BaseSampler:
        tried = len(situation.taken)
        gives_way = tried < _TURNS_END and tried % _TURNS == _TURNS - 1
        return seldom(situation) if gives_way else often(situation)

    return make


def _cold_at_first(model: SamplerFactory, later: SamplerFactory) -> SamplerFactory:
    """Where there is a history, at first a model in place of a sampler that cannot know of it."""

    def make(situation: Situation) -> BaseSampler:
        tried = len(situation.taken)
        if situation.source is None or tried >= _COLD_TURNS.stop:
            return later(situation)
        return model(replace(situation, source=None) if tried in _COLD_TURNS else situation)

    return make


def _gp() -> SamplerFactory:
    return _chosen_by(SurrogateSearch())


# A further sampler is one line here: any of Optuna's, or a function of the situation. Each search
# makes its own, since some keep what they have worked out.
SAMPLERS: Mapping[str, Callable[[], SamplerFactory]] = {
    "auto": lambda: _taking_turns(_gp(), _cold_at_first(_gp(), _tpe)),
    "gp": _gp,
    "tpe": lambda: _after_spread(_tpe),
    "cmaes": lambda: _chosen_by(evolution_strategy),
    "ga": lambda: _after_spread(_combined_by(_genetic)),
    "grid": lambda: _chosen_by(_grid),
    "random": lambda: _chosen_by(_random),
}


# What goes with several objectives. All others look at the time alone.
_WITH_SEVERAL: Mapping[str, Callable[[], SamplerFactory]] = {
    "auto": lambda: _chosen_by(ParetoSearch()),
    "grid": SAMPLERS["grid"],
    "random": SAMPLERS["random"],
}


def sampler_named(name: str, objectives: int = 1) -> Sampler:
    """The sampler with this name of ours, or the dotted name of a class, made anew.

    Args:
        name: its name.
        objectives: how many the study has.

    Raises:
        UserError: where there is none, which names the nearest, and where it is one that does not
            go with several objectives.
    """
    if objectives > 1:
        if name not in _WITH_SEVERAL:
            raise UserError(
                f"the sampler {name} looks at the time alone: with several objectives choose one "
                f"of {', '.join(_WITH_SEVERAL)}"
            )
        return Sampler(_WITH_SEVERAL[name]())
    if "." in name:
        return Sampler(imported_sampler(name), sees_ranks(name))
    if name not in SAMPLERS:
        raise UserError(f"there is no sampler named {name}: {nearest(name, SAMPLERS)}")
    return Sampler(SAMPLERS[name](), sees_source=name in _WITH_SOURCE)
