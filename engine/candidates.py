"""The valid configurations of a search space as rows of numbers, which samplers can measure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from optuna.distributions import BaseDistribution, CategoricalDistribution

from engine.errors import UserError
from engine.gaussian_process import Levels
from search_spaces.config import Config
from search_spaces.space import Parameter, SearchSpace

__all__ = ["Candidates"]


# Combinations that are listed one by one, in half a minute or so at the most. Of a space with more,
# so many are drawn, and the valid ones of these are the candidates, the same in every process.
_MAX_LISTED = 1_000_000
_DRAWN = 100_000


class Candidates:
    """Every valid configuration of a space, numbered from 0 in the space's own order.

    A configuration is kept as its ranks: for each parameter the position of its value among the
    parameter's values. Nothing here changes after construction. Of a space with more than a million
    combinations these are a random sample of the valid ones, with the default among them.

    Attributes:
        space: where they come from.
        ranks: shape (candidates, parameters), the ranks.
        points: shape (candidates, coordinates), where distances are taken: a numeric parameter is
            its rank scaled to 0..1, any other has one coordinate a value, so that two different
            values are always 1 apart.
        levels: the values of the parameters that have more than one, with squared differences as
            between points.
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
        rows = [self._ranks_of(config) for config in _considered(space)]
        if not rows:
            raise UserError(_why_empty(space))
        self.ranks = np.array(rows, dtype=np.int64).reshape(len(rows), len(space.parameters))
        self.points = self._points_of(self.ranks)
        self._varied = [c for c, p in enumerate(space.parameters) if len(p.values) > 1]
        self.levels = _levels([space.parameters[column] for column in self._varied])
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
        result: npt.NDArray[np.float64] = np.linalg.norm(
            self.points - self._points_of(ranks), axis=1
        )
        return result

    def neighbours(self, number: int) -> npt.NDArray[np.int64]:
        """The candidates that differ from this one in the value of one parameter."""
        return np.flatnonzero((self.ranks != self.ranks[number]).sum(axis=1) == 1)

    def indicators(self, numbers: Sequence[int]) -> npt.NDArray[np.float64]:
        """Shape (numbers, levels): 1 for each level that a candidate has, 0 elsewhere."""
        first_levels = np.searchsorted(self.levels.owners, np.arange(self.levels.parameters))
        rows = np.zeros((len(numbers), len(self.levels.owners)))
        chosen = self.ranks[np.array(numbers, dtype=np.int64)]
        columns = chosen[:, self._varied] + first_levels
        np.put_along_axis(rows, columns, 1.0, axis=1)
        return rows

    def _points_of(self, ranks: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Coordinates of rows of ranks, shape (rows, coordinates)."""
        blocks = [
            _coordinates(parameter, ranks[:, column])
            for column, parameter in enumerate(self.space.parameters)
        ]
        return np.concatenate(blocks, axis=1)

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


def _levels(parameters: list[Parameter]) -> Levels:
    counts = [len(parameter.values) for parameter in parameters]
    squares = np.zeros((sum(counts), sum(counts)))
    end = 0
    for parameter, count in zip(parameters, counts, strict=True):
        points = _coordinates(parameter, np.arange(count))
        block = ((points[:, None] - points) ** 2).sum(axis=2)
        squares[end : end + count, end : end + count] = block
        end += count
    return Levels(squares, np.repeat(np.arange(len(counts)), counts))


def _considered(space: SearchSpace) -> Iterable[Config]:
    """The valid configurations, or those of a sample where there are too many combinations."""
    if space.members is not None or _combinations(space) <= _MAX_LISTED:
        return space.valid_configs()
    first = [] if space.default is None else [space.default]
    drawn = dict.fromkeys([*first, *_sample(space)])
    return (config for config in drawn if space.violation(config) is None)


def _combinations(space: SearchSpace) -> int:
    return math.prod(len(parameter.values) for parameter in space.parameters)


def _sample(space: SearchSpace) -> Iterable[Config]:
    """Combinations drawn at random, allowed or not; they may repeat."""
    rng = np.random.default_rng(0)
    counts = [len(parameter.values) for parameter in space.parameters]
    for ranks in rng.integers(counts, size=(_DRAWN, len(counts))).tolist():
        chosen = zip(space.parameters, ranks, strict=True)
        yield Config({parameter.name: parameter.values[rank] for parameter, rank in chosen})


def _why_empty(space: SearchSpace) -> str:
    """One sentence that says how many combinations each rule removed from an empty space."""
    removed: Counter[str] = Counter()
    listed = space.members is not None or _combinations(space) <= _MAX_LISTED
    for config in space.combinations() if listed else _sample(space):
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
