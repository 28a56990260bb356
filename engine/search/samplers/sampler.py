"""What a sampler is: for each proposal, it makes one of Optuna's samplers or gives the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from optuna.samplers import BaseSampler

from engine.search.model.search_state import SearchState
from engine.search.samplers.spread import SPREAD_TRIALS, spread
from foundation.config import ParameterValue

__all__ = [
    "Chooser",
    "Combination",
    "Sampler",
    "SamplerFactory",
    "after_spread",
    "choosing",
    "combining",
]

Combination = Mapping[str, ParameterValue]
Chooser = Callable[[], Combination]
SamplerFactory = Callable[[SearchState], BaseSampler | Chooser]


@dataclass(frozen=True)
class Sampler:
    """A sampler of one search.

    Args:
        make: makes what is asked for one proposal: one of Optuna's samplers, or a function that
            gives values for all parameters, which may be a combination that a rule forbids.
        uses_ranks: whether it sees ordered parameters as numbers; see `Encoding`.
        uses_history: whether it learns from the transfer model of a history.
    """

    make: SamplerFactory
    uses_ranks: bool = False
    uses_history: bool = False


def combining(choose: Callable[[SearchState], Combination]) -> SamplerFactory:
    """A sampler from a function that gives values for all parameters."""
    return lambda state: partial(choose, state)


def choosing(choose: Callable[[SearchState], int]) -> SamplerFactory:
    """A sampler from a function that gives the number of a candidate."""
    return combining(lambda state: state.candidates.config(choose(state)))


def after_spread(factory: SamplerFactory) -> SamplerFactory:
    """The same sampler, after a start that spreads over the valid configurations."""
    spreading = choosing(spread)
    return lambda state: spreading(state) if len(state.taken) < SPREAD_TRIALS else factory(state)
