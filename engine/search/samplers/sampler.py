"""What a sampler is: something that makes one of Optuna's samplers for each proposal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler

from engine.search.model.search_state import SearchState
from engine.search.samplers.encoding import Encoding
from engine.search.samplers.spread import SPREAD_TRIALS, spread
from foundation.config import ParameterValue

__all__ = ["Combination", "Sampler", "SamplerFactory", "after_spread", "choosing", "combining"]

Combination = Mapping[str, ParameterValue]
SamplerFactory = Callable[[SearchState], BaseSampler]


@dataclass(frozen=True)
class Sampler:
    """A sampler of one search.

    Args:
        make: makes one of Optuna's samplers for one proposal.
        uses_ranks: whether it sees ordered parameters as numbers; see `Encoding`.
        uses_history: whether it learns from the transfer model of a history.
    """

    make: SamplerFactory
    uses_ranks: bool = False
    uses_history: bool = False


class _Joint(BaseSampler):
    """An Optuna sampler that takes all parameters at once from a function of the search state."""

    def __init__(self, state: SearchState, choose: Callable[[SearchState], Combination]) -> None:
        self._state = state
        self._choose = choose

    def infer_relative_search_space(self, *_: object) -> dict[str, BaseDistribution]:
        """All parameters."""
        return Encoding(self._state.candidates.space).distributions

    def sample_relative(self, *_: object) -> dict[str, Any]:
        """What the function says; it may be a combination that a rule forbids."""
        return dict(self._choose(self._state))

    def sample_independent(self, *_: object) -> Any:
        """Never reached: no parameter is left over."""
        raise AssertionError("a parameter was left out of a proposal")


def combining(choose: Callable[[SearchState], Combination]) -> SamplerFactory:
    """A sampler from a function that gives values for all parameters."""
    return lambda state: _Joint(state, choose)


def choosing(choose: Callable[[SearchState], int]) -> SamplerFactory:
    """A sampler from a function that gives the number of a candidate."""
    return combining(lambda state: state.candidates.config(choose(state)))


def after_spread(factory: SamplerFactory) -> SamplerFactory:
    """The same sampler, after a start that spreads over the valid configurations."""
    spreading = choosing(spread)
    return lambda state: spreading(state) if len(state.taken) < SPREAD_TRIALS else factory(state)
