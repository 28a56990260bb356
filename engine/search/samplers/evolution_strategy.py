"""CMA-ES over the valid configurations, as points in a cube."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from cmaes import CMA

from engine.search.model.search_state import SearchState
from engine.search.samplers.spread import SPREAD_TRIALS, spread

__all__ = ["evolution_strategy"]

Floats = npt.NDArray[np.float64]

# The first step size in the unit cube: a third covers it.
_FIRST_STEP = 0.3


def evolution_strategy(state: SearchState) -> int:
    """The free candidate nearest to the next sample of the strategy.

    The strategy (Hansen, "The CMA evolution strategy: a tutorial", 2016) is replayed over the
    trials of the study, one generation at a time in the order of proposal, so that nothing has to
    be kept between proposals. It starts at the best of the trials that spread over the space. Its
    individuals are the candidates that were tried. When its steps become too small, it restarts at
    a random point.
    """
    settled = [number for number in state.taken if number in state.times_s]
    if len(state.taken) < SPREAD_TRIALS or not state.fastest(1):
        return spread(state)
    points = state.candidates.points
    costs = _costs(state, settled)
    first = settled[:SPREAD_TRIALS]
    start = points[min(first, key=lambda number: costs[number])]
    seeds = np.random.default_rng(state.seed)
    strategy = _begin(start, seeds)
    rest = settled[SPREAD_TRIALS:]
    while len(rest) >= strategy.population_size:
        generation, rest = rest[: strategy.population_size], rest[strategy.population_size :]
        strategy.tell([(points[number], costs[number]) for number in generation])
        if strategy.should_stop():
            strategy = _begin(np.asarray(seeds.random(points.shape[1])), seeds)
    strategy.reseed_rng(int(state.rng.integers(2**31)))
    wanted = strategy.ask()
    free = np.flatnonzero(state.free)
    return int(free[((points[free] - wanted) ** 2).sum(axis=1).argmin()])


def _begin(mean: Floats, seeds: np.random.Generator) -> CMA:
    bounds = np.tile([0.0, 1.0], (len(mean), 1))
    seed = int(seeds.integers(2**31))
    return CMA(mean=mean.copy(), sigma=_FIRST_STEP, bounds=bounds, seed=seed)


def _costs(state: SearchState, settled: list[int]) -> dict[int, float]:
    """Logarithms of the times; a failure costs more than the slowest (CMA-ES only uses ranks)."""
    timed = {n: math.log(t) for n in settled if (t := state.times_s[n]) is not None}
    failure = max(timed.values()) + 1
    return {number: timed.get(number, failure) for number in settled}
