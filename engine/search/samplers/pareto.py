"""The sampler for several objectives: a surrogate of each, and the hypervolume to gain."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from engine.search.model.acquisition import expected_hypervolume_improvement
from engine.search.model.search_state import SearchState
from engine.search.model.surrogate import Surrogate, candidate_pool
from engine.search.samplers.spread import SURROGATE_SPREAD_TRIALS, spread
from engine.study.objectives import front

__all__ = ["ParetoSearch"]

Floats = npt.NDArray[np.float64]

# The reference point lies so many standard deviations beyond the worst of each objective, so that
# the ends of the front contribute too.
_BEYOND = 0.1

# Gains are compared to so many decimals, so that sums in another order do not change a choice.
_GAIN_DECIMALS = 9


class ParetoSearch:
    """Proposes the free candidate with the highest expected hypervolume improvement.

    Objectives are standardised logarithms, not drawn together, since a slow configuration may lie
    on the Pareto front; a failure counts as the worst of each. Soft rules are about times and are
    ignored here.
    """

    def __init__(self) -> None:
        self._surrogates = (Surrogate(), Surrogate())

    def __call__(self, state: SearchState) -> int:
        """The number of a free candidate."""
        if len(state.taken) < SURROGATE_SPREAD_TRIALS or not state.fastest(1):
            return spread(state)
        numbers = state.training_set
        known = _objectives(state, numbers)
        leading = front(known.tolist())
        pool = candidate_pool(state, [numbers[place] for place in leading])
        predictions = [
            surrogate(state, partial(_objective, state, column), pool)
            for column, surrogate in enumerate(self._surrogates)
        ]
        gain = expected_hypervolume_improvement(
            np.stack([mean for mean, _ in predictions], axis=1),
            np.stack([deviation for _, deviation in predictions], axis=1),
            known[leading],
            known.max(axis=0) + _BEYOND,
        )
        return int(pool[np.where(state.free[pool], gain.round(_GAIN_DECIMALS), -1).argmax()])


def _objective(state: SearchState, column: int, numbers: list[int]) -> Floats:
    """One of them."""
    objective: Floats = _objectives(state, numbers)[:, column]
    return objective


def _objectives(state: SearchState, numbers: list[int]) -> Floats:
    """Shape (numbers, 2): standardised logarithms for candidates that have an outcome."""
    outcomes = [state.outcome(number) for number in numbers]
    known = np.log([values for values in outcomes if values is not None])
    worst = known.max(axis=0)
    logarithms = np.array([worst if v is None else np.log(v) for v in outcomes])
    deviations = logarithms.std(axis=0)
    centred: Floats = logarithms - logarithms.mean(axis=0)
    return centred / np.where(deviations > 0, deviations, 1.0)
