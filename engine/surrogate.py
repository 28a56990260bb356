"""The model-based sampler: a Gaussian process over what was tried says where to look next."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from engine.acquisition import log_expected_improvement
from engine.forecast import Forecast, learnt_from, worth_a_look
from engine.situation import Situation
from engine.source_model import SourceModel
from engine.spread import spread
from engine.targets import Scale, scaled, targets

__all__ = ["SurrogateSearch"]

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

# Trials that spread over the space before the model takes over: few, since it is of use at once.
_SPREAD_TRIALS = 5

# With a history to expect something from: the default and what was quickest there.
_TRIALS_WITH_SOURCE = 2

# How much slower a configuration is expected to be, in standard deviations of the targets, for each
# by which it was slower elsewhere; what the trials say soon outweighs it.
_TRUST = 1.0

# How many of the quickest have all their neighbours looked at.
_NEIGHBOURED = 3

# A configuration that a soft rule doubts is expected to be slower by so many standard deviations of
# the targets for each such rule: enough to come later, little enough to be outweighed by trials.
_DOUBT = 0.5

# Gains are compared to so many decimals, so that sums in another order do not change a choice.
_GAIN_DECIMALS = 6


class SurrogateSearch:
    """Proposes the free candidate with the highest expected improvement.

    A proposal is a function of the situation alone; what is kept between proposals only saves
    doing a fit again.
    """

    def __init__(self) -> None:
        self._forecast = Forecast()

    def __call__(self, situation: Situation) -> int:
        """The number of a free candidate."""
        if situation.source is not None and not situation.times_s:
            # Others are being tried already: until one has ended, the history is all there is.
            return _quickest_expected(situation, situation.source)
        if len(situation.taken) < _first_trials(situation) or not situation.quickest(1):
            return spread(situation)
        choice = worth_a_look(situation, situation.quickest(_NEIGHBOURED))
        gain = self._log_gain(situation, choice)
        return int(choice[gain.round(_GAIN_DECIMALS).argmax()])

    def expected_gain(self, situation: Situation) -> float | None:
        """By which part of itself the best time is expected to fall with the next trial.

        It is the highest expected improvement of a free candidate: of the logarithm of the time,
        which for a small one is a part of the time. None while there is too little to learn from.
        """
        if len(situation.times_s) < _SPREAD_TRIALS or not situation.quickest(1):
            return None
        choice = worth_a_look(situation, situation.quickest(_NEIGHBOURED))
        gain = self._log_gain(situation, choice)
        times_s = [situation.times_s[number] for number in learnt_from(situation)]
        _, scale = scaled(times_s, _scale_elsewhere(situation))
        return float(np.exp(gain.max()) * scale.deviation)

    def _log_gain(self, situation: Situation, choice: Numbers) -> Floats:
        """Logarithm of the expected improvement of candidates.

        What soft rules doubt is expected to be slower until it is seen.
        """
        prior = _prior_mean(situation)

        def values(numbers: list[int]) -> Floats:
            return _targets(situation, numbers) - prior[numbers]

        mean, deviation = self._forecast(situation, values, choice)
        best = _targets(situation, learnt_from(situation)).min()
        return log_expected_improvement(mean + prior[choice], deviation, float(best))


def _first_trials(situation: Situation) -> int:
    """Trials before the model takes over."""
    return _SPREAD_TRIALS if situation.source is None else _TRIALS_WITH_SOURCE


def _quickest_expected(situation: Situation, source: SourceModel) -> int:
    """The free candidate that the history leads to expect most of."""
    return int(np.where(situation.free, source.expected, np.inf).argmin())


def _prior_mean(situation: Situation) -> Floats:
    """What is expected of each candidate before anything is tried, in standardised targets."""
    doubted = _DOUBT * situation.candidates.doubts.astype(np.float64)
    return doubted if situation.source is None else doubted + _TRUST * situation.source.expected


def _targets(situation: Situation, numbers: list[int]) -> Floats:
    """What the model learns of candidates that have an outcome."""
    return targets([situation.times_s[n] for n in numbers], _scale_elsewhere(situation))


def _scale_elsewhere(situation: Situation) -> Scale | None:
    return None if situation.source is None else situation.source.scale
