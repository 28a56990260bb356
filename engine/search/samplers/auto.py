"""The default sampler: a Gaussian process and TPE that take turns."""

from __future__ import annotations

from dataclasses import replace

from optuna.samplers import BaseSampler

from engine.search.model.search_state import SearchState
from engine.search.samplers.bayesian import BayesianSearch
from engine.search.samplers.sampler import Chooser, SamplerFactory, choosing
from engine.search.samplers.tpe import TPE

__all__ = ["auto"]

# TPE makes one proposal of so many. When one model is misled the other is not, and each learns from
# the other's trials.
_TURNS = 3

# The trials up to which TPE takes turns. Its cost grows with them, and near the optimum it mostly
# proposes what was tried.
_TURNS_END = 300

# With a history, TPE's turns among these trials go to a surrogate without it: the history may
# mislead, and TPE has too few trials to learn from.
_COLD_TURNS = range(5, 25)


def auto() -> SamplerFactory:
    """One sampler of a search; it keeps what its models have worked out."""
    without_history = _cold_at_first(choosing(BayesianSearch()), TPE)
    return _taking_turns(choosing(BayesianSearch()), without_history)


def _taking_turns(often: SamplerFactory, seldom: SamplerFactory) -> SamplerFactory:
    """Two samplers that learn from all trials; at first the second makes every third proposal."""

    def make(state: SearchState) -> BaseSampler | Chooser:
        tried = len(state.taken)
        gives_way = tried < _TURNS_END and tried % _TURNS == _TURNS - 1
        return seldom(state) if gives_way else often(state)

    return make


def _cold_at_first(model: SamplerFactory, later: SamplerFactory) -> SamplerFactory:
    """With a history, a surrogate replaces at first a sampler that cannot use the history."""

    def make(state: SearchState) -> BaseSampler | Chooser:
        tried = len(state.taken)
        if state.transfer is None or tried >= _COLD_TURNS.stop:
            return later(state)
        return model(replace(state, transfer=None) if tried in _COLD_TURNS else state)

    return make
