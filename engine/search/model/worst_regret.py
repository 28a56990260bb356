"""What to try next for the lowest worst regret: a surrogate of the time under each model."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from engine.search.model.search_state import SearchState
from engine.search.model.surrogate import Surrogate
from engine.search.model.targets import Scale, scaled

__all__ = ["WorstRegret"]

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

# Quantiles of the standard normal distribution that expectations are taken over, with weights.
_QUANTILES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()

# A gain of nothing at any quantile still tells what is nearer to one from what is farther.
_LEAST_GAIN = 1e-12


class WorstRegret:
    """The improvement to expect of the worst regret over the models.

    The score of a trial would be the worst of its regrets, over the least times so far. Which model
    that is changes from one configuration to the next, so scores have kinks that the times under
    any one model lack. All models' times of a trial are known, so each has its own surrogate.

    Args:
        bowl: as of `Surrogate`.
    """

    def __init__(self, *, bowl: bool = False) -> None:
        self._bowl = bowl
        self._surrogates: dict[str, Surrogate] = {}

    def log_gain(
        self, state: SearchState, pool: Numbers, prior: Floats, elsewhere: Scale | None
    ) -> Floats:
        """Logarithm of the expected fall of the worst regret, itself taken as a logarithm.

        Under all models a configuration is taken to be faster or slower than predicted alike: what
        is not known of it is mostly the code, which is the same under all.

        Args:
            state: its correct trials have the times of its `models`.
            pool: the candidates.
            prior: the prior mean of each candidate in standardised targets.
            elsewhere: the scale of a history.
        """
        known, expected, deviations = [], [], []
        for name in state.models:
            times_s = [self._time_s(state, name, n) for n in state.training_set]
            learnt, scale = scaled(times_s, elsewhere)
            values = partial(self._values, state, name, prior, elsewhere)
            surrogate = self._surrogates.setdefault(name, Surrogate(bowl=self._bowl))
            mean, deviation = surrogate(state, values, pool)
            known.append((learnt - learnt.min()) * scale.deviation)
            expected.append((mean + prior[pool] - learnt.min()) * scale.deviation)
            deviations.append(deviation * scale.deviation)
        best = np.max(known, axis=0).min()
        mean, deviation = np.array(expected), np.array(deviations)
        gain = _LEAST_GAIN * np.exp(-mean.max(axis=0))
        for quantile, weight in zip(_QUANTILES, _WEIGHTS, strict=True):
            worst = (mean + quantile * deviation).max(axis=0)
            gain += weight * np.maximum(best - worst, 0)
        result: Floats = np.log(gain)
        return result

    def _values(
        self,
        state: SearchState,
        name: str,
        prior: Floats,
        elsewhere: Scale | None,
        numbers: list[int],
    ) -> Floats:
        """The targets of candidates under a model, over what is expected of them beforehand."""
        targets = scaled([self._time_s(state, name, n) for n in numbers], elsewhere)[0]
        return targets - prior[numbers]

    @staticmethod
    def _time_s(state: SearchState, name: str, number: int) -> float | None:
        return None if state.times_s[number] is None else state.models_s[number][name]
