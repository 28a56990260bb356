"""The model-based sampler: a Gaussian process over what was tried says where to look next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

from engine.acquisition import log_expected_improvement
from engine.gaussian_process import GaussianProcess, Hyperparameters, Inputs, fit
from engine.situation import Situation
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

# Free candidates whose expected improvement is computed: a random sample of so many, and all that
# differ in one parameter from one of the quickest so far.
_SAMPLED_CANDIDATES = 2000
_NEIGHBOURED = 3

# Trials that the model is made from, and those that its hyperparameters are fitted to: all of them
# in studies of usual length. Beyond that, a proposal's cost stays what it is.
_MAX_ROWS = 250
_MAX_FITTED_ROWS = 150

# Hyperparameters are fitted again each time the trials have grown by one part in so many.
_REFIT_PARTS = 20

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
        self._fitted: tuple[tuple[list[int], list[float]], Hyperparameters] | None = None
        # The matrices are small: threads would wait for each other, and for builds and boards.
        self._threads = ThreadpoolController()

    def __call__(self, situation: Situation) -> int:
        """The number of a free candidate."""
        if len(situation.taken) < _first_trials(situation) or not situation.quickest(1):
            return spread(situation)
        choice = _worth_a_look(situation)
        with self._threads.limit(limits=1, user_api="blas"):
            gain = self._log_gain(situation, choice)
        return int(choice[gain.round(_GAIN_DECIMALS).argmax()])

    def expected_gain(self, situation: Situation) -> float | None:
        """By which part of itself the best time is expected to fall with the next trial.

        It is the highest expected improvement of a free candidate: of the logarithm of the time,
        which for a small one is a part of the time. None while there is too little to learn from.
        """
        if len(situation.times_s) < _SPREAD_TRIALS or not situation.quickest(1):
            return None
        choice = _worth_a_look(situation)
        with self._threads.limit(limits=1, user_api="blas"):
            gain = self._log_gain(situation, choice)
        numbers = _learnt_from(situation.taken, situation.times_s, _MAX_ROWS)
        _, scale = scaled([situation.times_s[n] for n in numbers], _scale_elsewhere(situation))
        return float(np.exp(gain.max()) * scale.deviation)

    def _log_gain(self, situation: Situation, choice: Numbers) -> Floats:
        """Logarithm of the expected improvement of candidates.

        What is being tried now is taken to turn out as expected. This is the kriging believer of
        Ginsbourger, Le Riche and Carraro, "Kriging is well-suited to parallelize optimization"
        (2010): the expectation stays, and nothing is gained there any more. What soft rules doubt
        is expected to be slower until it is seen.
        """
        levels = situation.candidates.levels
        prior = _prior_mean(situation)
        hyperparameters = self._hyperparameters(situation)
        numbers = _learnt_from(situation.taken, situation.times_s, _MAX_ROWS)
        known = _targets(situation, numbers)
        values = known - prior[numbers]
        process = GaussianProcess(levels, _inputs(situation, numbers), values, hyperparameters)
        being_tried = [number for number in situation.taken if number not in situation.times_s]
        if being_tried:
            expected, _ = process.predict(_inputs(situation, being_tried))
            believed = np.concatenate([values, expected])
            inputs = _inputs(situation, numbers + being_tried)
            process = GaussianProcess(levels, inputs, believed, hyperparameters)
        mean, deviation = process.predict(_inputs(situation, choice.tolist()))
        return log_expected_improvement(mean + prior[choice], deviation, float(known.min()))

    def _hyperparameters(self, situation: Situation) -> Hyperparameters:
        """Fitted to the outcomes of a number of first trials that grows in steps."""
        step = max(1, len(situation.taken) // _REFIT_PARTS)
        first = situation.taken[: len(situation.taken) // step * step]
        numbers = _learnt_from(first, situation.times_s, _MAX_FITTED_ROWS)
        values = _targets(situation, numbers) - _prior_mean(situation)[numbers]
        learnt_from = numbers, values.tolist()  # with several objectives they differ each time
        if self._fitted is None or self._fitted[0] != learnt_from:
            inputs = _inputs(situation, numbers)
            self._fitted = learnt_from, fit(situation.candidates.levels, inputs, values)
        return self._fitted[1]


def _first_trials(situation: Situation) -> int:
    """Trials before the model takes over."""
    return _SPREAD_TRIALS if situation.source is None else _TRIALS_WITH_SOURCE


def _prior_mean(situation: Situation) -> Floats:
    """What is expected of each candidate before anything is tried, in standardised targets."""
    doubted = _DOUBT * situation.candidates.doubts.astype(np.float64)
    return doubted if situation.source is None else doubted + _TRUST * situation.source.expected


def _inputs(situation: Situation, numbers: list[int]) -> Inputs:
    """Candidates as the model compares them."""
    rows = situation.candidates.indicators(numbers)
    source = situation.source
    return Inputs(rows, None if source is None else source.expected[numbers])


def _targets(situation: Situation, numbers: list[int]) -> Floats:
    """What the model learns of candidates that have an outcome."""
    return targets([situation.times_s[n] for n in numbers], _scale_elsewhere(situation))


def _scale_elsewhere(situation: Situation) -> Scale | None:
    return None if situation.source is None else situation.source.scale


def _learnt_from(
    taken: Sequence[int], times_s: Mapping[int, float | None], limit: int
) -> list[int]:
    """The candidates with an outcome to learn from, in the order of asking.

    Where there are more than `limit`, the quickest make up one half and the latest others the rest.
    """
    settled = [number for number in taken if number in times_s]
    if len(settled) <= limit:
        return settled
    failures_last = sorted(settled, key=lambda n: (times_s[n] is None, times_s[n] or 0.0, n))
    kept = set(failures_last[: limit // 2])
    others = [number for number in settled if number not in kept]
    kept.update(others[len(kept) - limit :])
    return [number for number in settled if number in kept]


def _worth_a_look(situation: Situation) -> Numbers:
    """Free candidates to compute the expected improvement of, in ascending order."""
    free = np.flatnonzero(situation.free)
    if len(free) <= _SAMPLED_CANDIDATES:
        return free
    sample = situation.rng.choice(free, size=_SAMPLED_CANDIDATES, replace=False)
    near = [situation.candidates.neighbours(n) for n in situation.quickest(_NEIGHBOURED)]
    close = np.concatenate(near)
    return np.union1d(sample, close[situation.free[close]])
