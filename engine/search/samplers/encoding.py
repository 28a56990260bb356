"""A search space as Optuna's distributions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution

from foundation.config import Config, ParameterValue
from search_spaces.space import SearchSpace

__all__ = ["Encoding"]


@dataclass(frozen=True)
class Encoding:
    """Parameters as Optuna's distributions, and configurations as the values of these.

    Args:
        space: what is encoded.
        ranks: an ordered parameter becomes the rank of its value, an integer, as samplers that use
            distances need. Otherwise, and for any other parameter, each value is a category:
            Optuna's TPE avoids invalid combinations better that way.
    """

    space: SearchSpace
    ranks: bool = False

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """One for each parameter."""
        return {
            parameter.name: IntDistribution(0, len(parameter.values) - 1)
            if self._is_rank(parameter.name)
            else CategoricalDistribution(parameter.values)
            for parameter in self.space.parameters
        }

    def encode(self, config: Mapping[str, ParameterValue]) -> dict[str, Any]:
        """A combination of the space's values, as Optuna's parameters."""
        return {
            parameter.name: parameter.values.index(config[parameter.name])
            if self._is_rank(parameter.name)
            else config[parameter.name]
            for parameter in self.space.parameters
        }

    def decode(self, values: Mapping[str, Any]) -> Config:
        """The combination that Optuna's parameters stand for."""
        return Config(
            {
                parameter.name: parameter.values[values[parameter.name]]
                if self._is_rank(parameter.name)
                else values[parameter.name]
                for parameter in self.space.parameters
            }
        )

    def _is_rank(self, name: str) -> bool:
        return self.ranks and self.space.parameter(name).is_ordered
