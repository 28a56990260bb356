"""The valid configurations of a search space as rows of numbers, which samplers can measure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from optuna.distributions import BaseDistribution, CategoricalDistribution

from engine.errors import UserError
from search_spaces.config import Config
from search_spaces.space import Parameter, SearchSpace

__all__ = ["Candidates"]


class Candidates:
    """Every valid configuration of a space, numbered from 0 in the space's own order.

    A configuration is kept as its ranks: for each parameter the position of its value among the
    parameter's values. Nothing here changes after construction.

    Attributes:
        space: where they come from.
        ranks: shape (candidates, parameters), the ranks.
        points: shape (candidates, coordinates), where distances are taken: a numeric parameter is
            its rank scaled to 0..1, any other has one coordinate a value, so that two different
            values are always 1 apart.
        distributions: the parameters as Optuna's samplers see them.

    Raises:
        UserError: where no configuration is valid; it says how many each rule removed.
    """

    def __init__(self, space: SearchSpace) -> None:
        self.space = space
        # Categorical, though most values are ordered: told of impossible combinations, Optuna's TPE
        # finds its way better over categories than over ranks.
        self.distributions: dict[str, BaseDistribution] = {
            parameter.name: CategoricalDistribution(parameter.values)
            for parameter in space.parameters
        }
        self._positions: list[dict[object, int]] = [
            {value: rank for rank, value in enumerate(parameter.values)}
            for parameter in space.parameters
        ]
        rows = [self._ranks_of(config) for config in space.valid_configs()]
        if not rows:
            raise UserError(_why_empty(space))
        self.ranks = np.array(rows, dtype=np.int64).reshape(len(rows), len(space.parameters))
        self.points = np.concatenate(
            [
                _coordinates(parameter, self.ranks[:, column])
                for column, parameter in enumerate(space.parameters)
            ],
            axis=1,
        )
        self._index = {tuple(row): number for number, row in enumerate(rows)}

    def __len__(self) -> int:
        return len(self.ranks)

    def config(self, number: int) -> Config:
        """The configuration with this number."""
        ranks = self.ranks[number]
        return Config(
            {
                parameter.name: parameter.values[rank]
                for parameter, rank in zip(self.space.parameters, ranks, strict=True)
            }
        )

    def number(self, config: Mapping[str, object]) -> int | None:
        """The number of a configuration, or None where it is not a valid one of this space."""
        if not self.is_combination(config):
            return None
        return self._index.get(tuple(self._ranks_of(config)))

    def is_combination(self, config: Mapping[str, object]) -> bool:
        """Whether each parameter of the space, and nothing else, has one of its values."""
        return len(config) == len(self.space.parameters) and all(
            config.get(parameter.name) in positions
            for parameter, positions in zip(self.space.parameters, self._positions, strict=True)
        )

    def distances(self, config: Mapping[str, object]) -> npt.NDArray[np.float64]:
        """Euclidean distance of every candidate from a combination of values, valid or not."""
        ranks = np.array([self._ranks_of(config)], dtype=np.int64)
        point = np.concatenate(
            [
                _coordinates(parameter, ranks[:, column])
                for column, parameter in enumerate(self.space.parameters)
            ],
            axis=1,
        )
        result: npt.NDArray[np.float64] = np.linalg.norm(self.points - point, axis=1)
        return result

    def _ranks_of(self, config: Mapping[str, object]) -> list[int]:
        return [
            positions[config[parameter.name]]
            for parameter, positions in zip(self.space.parameters, self._positions, strict=True)
        ]


def _coordinates(parameter: Parameter, ranks: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Coordinates of one parameter's ranks, shape (ranks, coordinates)."""
    count = len(parameter.values)
    if all(isinstance(value, int | float) for value in parameter.values):
        return (ranks / max(count - 1, 1)).reshape(-1, 1)
    one_hot: npt.NDArray[np.float64] = np.eye(count)[ranks] / np.sqrt(2)
    return one_hot


def _why_empty(space: SearchSpace) -> str:
    """One sentence that says how many combinations each rule removed from an empty space."""
    removed: Counter[str] = Counter()
    for config in space.combinations():
        rule = space.violation(config)
        if rule is not None:
            removed[rule.name] += 1
    reasons = {rule.name: rule.reason for rule in space.rules}
    each = "; ".join(
        f"{name} removed {count}" + (f" ({reasons[name]})" if name in reasons else "")
        for name, count in removed.most_common()
    )
    return (
        f"no configuration of the search space is valid: of {sum(removed.values())} combinations "
        f"{each}: change the shape, or relax a rule"
    )
