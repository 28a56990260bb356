"""The model-based sampler: a Gaussian process over what was tried says where to look next."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from engine.search.model.acquisition import log_expected_improvement
from engine.search.model.failures import Failures
from engine.search.model.mean_regret import by_mean_regret
from engine.search.model.prediction import Score
from engine.search.model.search_state import SearchState
from engine.search.model.surrogate import Surrogate, candidate_pool
from engine.search.model.targets import Scale, scaled, targets
from engine.search.model.transfer_model import TransferModel
from engine.search.model.worst_regret import WorstRegret
from engine.search.samplers.spread import (
    SURROGATE_SPREAD_TRIALS,
    beside_or_far,
    farthest,
    largest,
    random_or_near,
    spread,
)

__all__ = ["BayesianSearch"]

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

# The first trials after the middle are each the farthest of so many draws: the slopes that a
# surrogate starts from show most clearly at the ends of the space.
_FIRST_DRAWS = 40

# Where a regret over models counts, the trial after the middle has the largest blocks: their code
# reads memory in the fewest passes, so it depends least on prefetches and caches.
_LARGEST_AFTER = 2

# With a history to expect something from: the default and what was fastest there.
_TRIALS_WITH_TRANSFER = 2

# The part of a space from which the history chooses what is tried before the first trial has ended.
# On ten pairs of recorded products on a GPU, 16 open at once, 30 trials came to .927 of the best
# speed on average, and to .914 with the fastest by the history; no other part was clearly better.
_PROMISING = 0.1

# With fewer times, nearly all trials have failed, and a surrogate takes the times for outliers.
_FEWEST_TIMES = 3

# How much slower a configuration is expected to be, in standard deviations of the targets, for each
# by which it was slower elsewhere; what the trials say soon outweighs it.
_TRUST = 1.0

# How many of the fastest have all their neighbours looked at.
_NEIGHBOURED = 3

# Prior penalty for each soft rule that a configuration violates, in standard deviations of the
# targets: enough to come later, little enough for trials to outweigh it.
_SOFT_PENALTY = 0.5

# Gains are compared to so many decimals, so that sums in another order do not change a choice.
_GAIN_DECIMALS = 6


class BayesianSearch:
    """Proposes the free candidate with the highest expected improvement.

    A proposal is a function of the search state alone; what is kept between proposals only avoids
    fitting again.

    Args:
        bowl: whether the surrogate expects a slope over the distance from the middle of the space.
    """

    def __init__(self, *, bowl: bool = False) -> None:
        self._surrogate = Surrogate(bowl=bowl)
        self._worst_regret = WorstRegret(bowl=bowl)
        self._failures = Failures()

    def __call__(self, state: SearchState) -> int:
        """The number of a free candidate."""
        state = by_mean_regret(state)
        if state.transfer is not None and not state.times_s:
            # Until the first trial ends, the history is all there is to learn from.
            return _promising(state, state.transfer)
        if len(state.taken) < _first_trials(state):
            of_models = state.robust != "off" and len(state.taken) == _LARGEST_AFTER
            return largest(state) if of_models else spread(state, _FIRST_DRAWS)
        fewest = _FEWEST_TIMES if state.transfer is None else 1
        if len(state.fastest(fewest)) < fewest:
            fails = None in state.times_s.values()
            return random_or_near(state) if fails else beside_or_far(state)
        pool = candidate_pool(state, state.fastest(_NEIGHBOURED))
        gain = self._log_gain(state, pool)
        return int(pool[gain.round(_GAIN_DECIMALS).argmax()])

    def expected_gain(self, state: SearchState) -> float | None:
        """By which part of itself the best time is expected to fall with the next trial.

        It is the highest expected improvement of a free candidate: of the logarithm of the time,
        which for a small one is a part of the time. None while there is too little to learn from.
        """
        if len(state.times_s) < SURROGATE_SPREAD_TRIALS or not state.fastest(1):
            return None
        state = by_mean_regret(state)
        pool = candidate_pool(state, state.fastest(_NEIGHBOURED))
        gain = self._log_gain(state, pool)
        known = self._failures.forget_random_ones(state)
        if _learns_models(known):
            return float(np.exp(gain.max()))
        times_s = [known.times_s[number] for number in known.training_set]
        _, scale = scaled(times_s, _scale_elsewhere(state))
        return float(np.exp(gain.max()) * scale.deviation)

    def _log_gain(self, state: SearchState, pool: Numbers) -> Floats:
        """Logarithm of the expected improvement of candidates; minus infinity if not free.

        The highest is exact, and that of a candidate which cannot have it may be too high.
        Candidates that violate soft rules are expected to be slower until they are tried.
        """
        prior = _prior_mean(state)
        known = self._failures.forget_random_ones(state)
        if _learns_models(known):
            gain = self._worst_regret.log_gain(known, pool, prior, _scale_elsewhere(state))
            return np.where(state.free[pool], gain, -np.inf)
        learnt = _targets(known, known.training_set)

        def values(numbers: list[int]) -> Floats:
            of_all = numbers is known.training_set
            return (learnt if of_all else _targets(known, numbers)) - prior[numbers]

        free, best = state.free[pool], float(learnt.min())

        def given(mean: Floats) -> Score:
            expected = mean + prior[pool]

            def log_gain(places: Numbers, deviation: Floats) -> Floats:
                gain = log_expected_improvement(expected[places], deviation, best)
                return np.where(free[places], gain, -np.inf)

            return log_gain

        return self._surrogate.scores(known, values, pool, given)


def _learns_models(state: SearchState) -> bool:
    """Whether the times under each model are learnt apart."""
    return state.robust == "worst" and len(state.models) > 1


def _first_trials(state: SearchState) -> int:
    """Trials before the surrogate takes over."""
    return SURROGATE_SPREAD_TRIALS if state.transfer is None else _TRIALS_WITH_TRANSFER


def _promising(state: SearchState, transfer: TransferModel) -> int:
    """Of the candidates that the history speaks for, the free one farthest from all taken.

    Many proposals may be open before the first trial ends. If they were the fastest by the history,
    they would be alike, and if it misleads, all would be slow and show nothing of the rest.
    """
    free = np.flatnonzero(state.free)
    count = max(1, round(_PROMISING * len(state.free)))
    best = np.argsort(transfer.expected[free], kind="stable")[:count]
    return farthest(state, free[best])


def _prior_mean(state: SearchState) -> Floats:
    """The prior mean of each candidate in standardised targets."""
    penalty = _SOFT_PENALTY * state.candidates.soft_violations.astype(np.float64)
    return penalty if state.transfer is None else penalty + _TRUST * state.transfer.expected


def _targets(state: SearchState, numbers: list[int]) -> Floats:
    """The targets of candidates with an outcome."""
    return targets([state.times_s[n] for n in numbers], _scale_elsewhere(state))


def _scale_elsewhere(state: SearchState) -> Scale | None:
    return None if state.transfer is None else state.transfer.scale
