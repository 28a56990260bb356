"""The sampler for several objectives: a Gaussian process for each, and the volume to be gained."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from engine.acquisition import expected_hypervolume_improvement
from engine.forecast import Forecast, learnt_from, worth_a_look
from engine.pareto import front
from engine.situation import Situation
from engine.spread import spread

__all__ = ["ParetoSearch"]

Floats = npt.NDArray[np.float64]

# Trials that spread over the space before the models take over.
_SPREAD_TRIALS = 5

# The reference point lies so many standard deviations beyond the worst of each objective, so that
# the ends of the front count too.
_BEYOND = 0.1

# Gains are compared to so many decimals, so that sums in another order do not change a choice.
_GAIN_DECIMALS = 9


class ParetoSearch:
    """Proposes the free candidate whose expected gain in hypervolume is the highest.

    Objectives are standardised logarithms. None of them is held back, since what is slow may lie on
    the front; a failure counts as the worst of each. Soft rules are about times, and the search for
    small code takes no notice of them.
    """

    def __init__(self) -> None:
        self._forecasts = (Forecast(), Forecast())

    def __call__(self, situation: Situation) -> int:
        """The number of a free candidate."""
        if len(situation.taken) < _SPREAD_TRIALS or not situation.quickest(1):
            return spread(situation)
        numbers = learnt_from(situation)
        known = _objectives(situation, numbers)
        leading = front(known.tolist())
        choice = worth_a_look(situation, [numbers[place] for place in leading])
        forecasts = [
            forecast(situation, partial(_objective, situation, column), choice)
            for column, forecast in enumerate(self._forecasts)
        ]
        gain = expected_hypervolume_improvement(
            np.stack([mean for mean, _ in forecasts], axis=1),
            np.stack([deviation for _, deviation in forecasts], axis=1),
            known[leading],
            known.max(axis=0) + _BEYOND,
        )
        return int(choice[gain.round(_GAIN_DECIMALS).argmax()])


def _objective(situation: Situation, column: int, numbers: list[int]) -> Floats:
    """One of them."""
    objective: Floats = _objectives(situation, numbers)[:, column]
    return objective


def _objectives(situation: Situation, numbers: list[int]) -> Floats:
    """Shape (numbers, 2): standardised logarithms for candidates that have an outcome."""
    outcomes = [situation.outcome(number) for number in numbers]
    known = np.log([values for values in outcomes if values is not None])
    worst = known.max(axis=0)
    logarithms = np.array([worst if v is None else np.log(v) for v in outcomes])
    deviations = logarithms.std(axis=0)
    centred: Floats = logarithms - logarithms.mean(axis=0)
    return centred / np.where(deviations > 0, deviations, 1.0)
