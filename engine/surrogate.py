"""The model-based sampler: a Gaussian process over what was tried says where to look next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

from engine.acquisition import log_expected_improvement
from engine.gaussian_process import GaussianProcess, Hyperparameters, fit
from engine.situation import Situation
from engine.spread import spread

__all__ = ["SurrogateSearch", "targets"]

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

# Trials that spread over the space before the model takes over: few, since it is of use at once.
_SPREAD_TRIALS = 5

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

# A time is told to the model up to so many times as far above the median as the best is below it,
# on the scale of logarithms: how bad the bad ones are says nothing about the good ones.
_TAIL_WIDTH = 1.0

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
        self._fitted: tuple[Sequence[int], Hyperparameters] | None = None
        # The matrices are small: threads would wait for each other, and for builds and boards.
        self._threads = ThreadpoolController()

    def __call__(self, situation: Situation) -> int:
        """The number of a free candidate."""
        if len(situation.taken) < _SPREAD_TRIALS or not situation.quickest(1):
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
        unit = _held_back([situation.times_s[number] for number in numbers]).std()
        return float(np.exp(gain.max()) * unit)

    def _log_gain(self, situation: Situation, choice: Numbers) -> Floats:
        """Logarithm of the expected improvement of candidates.

        What is being tried now is taken to turn out as expected. This is the kriging believer of
        Ginsbourger, Le Riche and Carraro, "Kriging is well-suited to parallelize optimization"
        (2010): the expectation stays, and nothing is gained there any more. What soft rules doubt
        is expected to be slower until it is seen.
        """
        candidates = situation.candidates
        doubts = _DOUBT * candidates.doubts
        hyperparameters = self._hyperparameters(situation)
        numbers = _learnt_from(situation.taken, situation.times_s, _MAX_ROWS)
        known = targets([situation.times_s[number] for number in numbers])
        values = known - doubts[numbers]
        rows = candidates.indicators(numbers)
        process = GaussianProcess(candidates.levels, rows, values, hyperparameters)
        being_tried = [number for number in situation.taken if number not in situation.times_s]
        if being_tried:
            pending = candidates.indicators(being_tried)
            expected, _ = process.predict(pending)
            rows, believed = np.concatenate([rows, pending]), np.concatenate([values, expected])
            process = GaussianProcess(candidates.levels, rows, believed, hyperparameters)
        mean, deviation = process.predict(candidates.indicators(choice.tolist()))
        return log_expected_improvement(mean + doubts[choice], deviation, float(known.min()))

    def _hyperparameters(self, situation: Situation) -> Hyperparameters:
        """Fitted to the outcomes of a number of first trials that grows in steps."""
        step = max(1, len(situation.taken) // _REFIT_PARTS)
        first = situation.taken[: len(situation.taken) // step * step]
        numbers = _learnt_from(first, situation.times_s, _MAX_FITTED_ROWS)
        if self._fitted is None or self._fitted[0] != numbers:
            candidates = situation.candidates
            values = targets([situation.times_s[number] for number in numbers])
            values = values - _DOUBT * candidates.doubts[numbers]
            rows = candidates.indicators(numbers)
            self._fitted = numbers, fit(candidates.levels, rows, values)
        return self._fitted[1]


def targets(times_s: Sequence[float | None]) -> Floats:
    """What the model learns: logarithms of the times, standardised, the slow ones held back.

    A failure counts as the slowest. Where all times are the same, and where all failed, zeros.

    Args:
        times_s: times in seconds, all positive; None for a failure.
    """
    values = _held_back(times_s)
    if len(set(values.tolist())) <= 1:
        return np.zeros(len(values))
    standardised: Floats = (values - values.mean()) / values.std()
    return standardised


def _held_back(times_s: Sequence[float | None]) -> Floats:
    """Logarithms of the times, those that are far above the median cut off; zeros without any."""
    logarithms = np.log([np.nan if seconds is None else seconds for seconds in times_s])
    known = logarithms[~np.isnan(logarithms)]
    if len(known) == 0:
        return np.zeros(len(logarithms))
    best, median, worst = np.quantile(known, (0, 0.5, 1))
    limit = min(median + _TAIL_WIDTH * (median - best), worst) if median > best else worst
    held_back: Floats = np.where(np.isnan(logarithms), limit, np.minimum(logarithms, limit))
    return held_back


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
