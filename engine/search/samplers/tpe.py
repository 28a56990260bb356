"""Optuna's tree-structured Parzen estimator."""

from __future__ import annotations

from optuna.distributions import BaseDistribution
from optuna.samplers import TPESampler

from engine.search.model.search_state import SearchState
from engine.search.samplers.encoding import Encoding

__all__ = ["TPE"]


class TPE(TPESampler):
    """Optuna's tree-structured Parzen estimator, over all parameters together.

    Its constant liar, on by default, keeps proposals apart while earlier ones are being measured.
    """

    def __init__(self, state: SearchState) -> None:
        super().__init__(seed=int(state.rng.integers(2**32)), n_startup_trials=1)
        parameters = Encoding(state.candidates.space).distributions
        self._varied = {name: of for name, of in sorted(parameters.items()) if not of.single()}

    def infer_relative_search_space(self, *_: object) -> dict[str, BaseDistribution]:
        """All parameters that vary; to find that out from all trials takes longer than the rest."""
        return self._varied
