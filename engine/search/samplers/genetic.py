"""A steady-state genetic algorithm over the valid configurations."""

from __future__ import annotations

import numpy as np

from engine.search.model.search_state import SearchState
from engine.search.samplers.random import random
from engine.search.samplers.sampler import Combination
from foundation.config import ParameterValue

__all__ = ["genetic"]

# A population has to be far smaller than the budget.
_POPULATION = 6
_TOURNAMENT = 3
_STEP_CHANCE = 0.5


def genetic(state: SearchState) -> Combination:
    """A steady-state genetic algorithm.

    The population is the best of all trials so far, so there is no generation to wait for and
    nothing to store: two parents are chosen by tournament and crossed uniformly, and each parameter
    is mutated with a chance that changes one on average.
    """
    best = state.fastest(_POPULATION)
    if not best:
        return state.candidates.config(random(state))
    rng, space = state.rng, state.candidates.space
    parents = [
        state.candidates.config(best[rng.integers(len(best), size=_TOURNAMENT).min()])
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
