"""The default sampler: a Gaussian process and TPE that take turns."""

from __future__ import annotations

from dataclasses import replace

from optuna.samplers import BaseSampler

from engine.search.model.search_state import SearchState
from engine.search.samplers.bayesian import BayesianSearch
from engine.search.samplers.sampler import SamplerFactory, choosing
from engine.search.samplers.tpe import TPE

__all__ = ["auto"]

# One proposal of so many is TPE's. Where one model is misled the other is not, and each
# learns from what the other tried.
_TURNS = 3

# Up to so many trials. TPE's cost grows with them, and near the optimum it mostly asks for what was
# tried.
_TURNS_END = 300

# Where a history leads to expect something, the turns between so many trials are those of a model
# that does not know of it: it may mislead, and TPE has too few trials of its own to learn from.
_COLD_TURNS = range(5, 25)


def auto() -> SamplerFactory:
    """One sampler of a search; it keeps what its models have worked out."""
    without_history = _cold_at_first(choosing(BayesianSearch()), TPE)
    return _taking_turns(choosing(BayesianSearch()), without_history)


def _taking_turns(often: SamplerFactory, seldom: SamplerFactory) -> SamplerFactory:
    """Two samplers that learn from all trials: at first every third proposal is the second's."""

    def make(state: SearchState) -> BaseSampler:
        tried = len(state.taken)
        gives_way = tried < _TURNS_END and tried % _TURNS == _TURNS - 1
        return seldom(state) if gives_way else often(state)

    return make


def _cold_at_first(model: SamplerFactory, later: SamplerFactory) -> SamplerFactory:
    """Where there is a history, at first a model in place of a sampler that cannot know of it."""

    def make(state: SearchState) -> BaseSampler:
        tried = len(state.taken)
        if state.transfer is None or tried >= _COLD_TURNS.stop:
            return later(state)
        return model(replace(state, transfer=None) if tried in _COLD_TURNS else state)

    return make
