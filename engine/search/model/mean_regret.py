"""What samplers with a surrogate learn for the lowest mean regret: scores over the least times."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.search.model.search_state import SearchState
from engine.study.robust import WORST_COUNTS

__all__ = ["by_mean_regret"]


def by_mean_regret(state: SearchState) -> SearchState:
    """The state with scores in place of times, where the mean regret is minimised.

    The score is the geometric mean of the least times so far under each model, times 1 + the mean
    regret over them in which the worst counts `WORST_COUNTS` times (`ModelRegrets.weighted_mean`).
    When a trial is the fastest under a model, the scores of all others change.
    """
    if state.robust != "mean" or len(names := state.models) < 2:
        return state
    timed = [number for number, time_s in state.times_s.items() if time_s is not None]
    logarithms = np.log([[state.models_s[number][name] for name in names] for number in timed])
    least = logarithms.min(axis=0)
    lost = logarithms - least
    more = WORST_COUNTS - 1
    means = (lost.sum(axis=1) + more * lost.max(axis=1)) / (len(names) + more)
    scores = dict(zip(timed, np.exp(least.mean() + means).tolist(), strict=True))
    return replace(state, times_s={number: scores.get(number) for number in state.times_s})
