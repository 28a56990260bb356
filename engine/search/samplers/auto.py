"""The default sampler: two surrogates that take turns."""

from __future__ import annotations

from dataclasses import replace

from optuna.samplers import BaseSampler

from engine.search.model.search_state import SearchState
from engine.search.samplers.bayesian import BayesianSearch
from engine.search.samplers.sampler import Chooser, SamplerFactory, choosing

__all__ = ["auto"]

# With a history, every third of these trials goes to a surrogate without it: the history may
# mislead.
_COLD_TURNS = range(5, 25)
_EACH_COLD_TURN = 3


def auto() -> SamplerFactory:
    """One sampler of a search; it keeps what its models have worked out.

    One surrogate expects a slope over the distance from the middle of the space and the other does
    not. Where one is misled the other seldom is, and each learns from the other's trials.
    """
    level, bowl = choosing(BayesianSearch()), choosing(BayesianSearch(bowl=True))
    cold = choosing(BayesianSearch())

    def make(state: SearchState) -> BaseSampler | Chooser:
        tried = len(state.taken)
        doubts = tried in _COLD_TURNS and tried % _EACH_COLD_TURN == _EACH_COLD_TURN - 1
        if state.transfer is not None and doubts:
            return cold(replace(state, transfer=None))
        return bowl(state) if tried % 2 else level(state)

    return make
