"""The valid configurations of a search space as rows of numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from engine.search.model.columns import Column, columns_of, coordinates
from engine.search.model.levels import Levels
from foundation.config import Config, ParameterValue
from foundation.errors import UserError
from search_spaces.enumeration import Census, broken, take_census
from search_spaces.space import Parameter, SearchSpace

__all__ = ["Candidates"]


class Candidates:
    """Every valid configuration of a space, numbered from 0 in the space's own order.

    A configuration is kept as its ranks: for each parameter the position of its value among the
    parameter's values. Nothing changes after construction. For a space that is too large to list,
    these are a random sample of the valid configurations and the default.

    Attributes:
        space: the search space.
        ranks: shape (candidates, parameters), the ranks.
        census: how many there are, and how many each rule prunes.
        soft_violations: shape (candidates,), how many soft rules each violates.
        points: shape (candidates, coordinates), for distances; see `coordinates`.
        levels: those of all `columns_of` the space's parameters, one column after the other.

    Raises:
        UserError: if no configuration is valid; it says how many each rule prunes.
    """

    def __init__(self, space: SearchSpace) -> None:
        self.space = space
        self._positions: list[dict[object, int]] = [
            {value: rank for rank, value in enumerate(parameter.values)}
            for parameter in space.parameters
        ]
        self.census = take_census(space)
        self.ranks = self._with_default(self.census.ranks)
        if len(self.ranks) == 0:
            raise UserError(_why_empty(space, self.census))
        self.soft_violations = broken(space.guesses, space, self.ranks)
        self.points = self._points_of(self.ranks)
        self._columns = columns_of(space.parameters)
        self.levels = _levels(self._columns)
        self._first_levels = np.searchsorted(self.levels.owners, np.arange(len(self._columns)))
        self._neighbours: dict[int, npt.NDArray[np.int64]] = {}  # of those asked for

    def __len__(self) -> int:
        return len(self.ranks)

    @cached_property
    def off_middle(self) -> npt.NDArray[np.float64]:
        """Shape (candidates,), squared distances from the mean of all, 1 on average."""
        squares: npt.NDArray[np.float64] = ((self.points - self.points.mean(axis=0)) ** 2).sum(
            axis=1
        )
        return squares / squares.mean() if squares.any() else squares

    @cached_property
    def log_sizes(self) -> npt.NDArray[np.float64]:
        """Shape (candidates,), the logarithm of the product of a candidate's numbers."""
        sizes = np.zeros(len(self))
        for column, parameter in enumerate(self.space.parameters):
            numbers = [float(value) for value in parameter.values if _is_positive_number(value)]
            if len(numbers) == len(parameter.values):
                sizes += np.log(numbers)[self.ranks[:, column]]
        return sizes

    def config(self, number: int) -> Config:
        """The configuration with this number."""
        return self.space.config_of(self.ranks[number].tolist())

    def number(self, config: Mapping[str, object]) -> int | None:
        """The number of a configuration, or None if it is not valid in this space."""
        if not self.is_combination(config):
            return None
        place, found = _place(self._ranks_by_parameter, self._ranks_of(config))
        return place if found else None

    def counterpart(self, config: Mapping[str, ParameterValue]) -> int | None:
        """The candidate that corresponds to a configuration of another space, or None.

        A parameter with a single value here takes that value. A number that is not a value here
        takes the nearest one by ratio. The result must be valid here.
        """
        values: dict[str, ParameterValue] = {}
        for parameter in self.space.parameters:
            value = _counterpart(parameter, config.get(parameter.name))
            if value is None:
                return None
            values[parameter.name] = value
        return self.number(values)

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
        if number not in self._neighbours:
            differing = (self.ranks != self.ranks[number]).sum(axis=1)
            self._neighbours[number] = np.flatnonzero(differing == 1)
        return self._neighbours[number]

    def indicators(self, numbers: Sequence[int] | npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Shape (numbers, levels): 1 for each level that a candidate has, 0 elsewhere."""
        count = len(self.levels.owners)
        rows = np.zeros((len(numbers), count))
        if self._columns:
            chosen = self.ranks[np.asarray(numbers, dtype=np.int64)]
            places = np.arange(0, rows.size, count)
            flat = rows.reshape(-1)
            for column, first_level in zip(self._columns, self._first_levels, strict=True):
                flat[column.of(chosen) + (places + first_level)] = 1.0
        return rows

    @cached_property
    def _ranks_by_parameter(self) -> npt.NDArray[np.int64]:
        """Shape (parameters, candidates); a search in a column would copy all of it."""
        return np.ascontiguousarray(self.ranks.T)

    def _with_default(self, ranks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The same rows, and the default's if the sample left it out."""
        default = self.space.default
        if default is None or self.census.is_complete or not self.is_combination(default):
            return ranks
        row = self._ranks_of(default)
        place, found = _place(ranks.T, row)
        if found or self.space.violation(default) is not None:
            return ranks
        return np.insert(ranks, place, row, axis=0)

    def _points_of(self, ranks: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Coordinates of rows of ranks, shape (rows, coordinates)."""
        blocks = [
            coordinates(parameter, ranks[:, column])
            for column, parameter in enumerate(self.space.parameters)
        ]
        return np.concatenate([np.empty((len(ranks), 0)), *blocks], axis=1)

    def _ranks_of(self, config: Mapping[str, object]) -> list[int]:
        return [
            positions[config[parameter.name]]
            for parameter, positions in zip(self.space.parameters, self._positions, strict=True)
        ]


def _place(by_parameter: npt.NDArray[np.int64], row: Sequence[int]) -> tuple[int, bool]:
    """The place of a row of ranks in the order of candidates, and whether it is among them.

    Args:
        by_parameter: shape (parameters, candidates), the ranks of the candidates in their order.
        row: the ranks to find.
    """
    low, high = 0, by_parameter.shape[1]
    for ranks, rank in zip(by_parameter, row, strict=True):
        low, high = low + np.searchsorted(ranks[low:high], (rank, rank + 1))
    return int(low), bool(low < high)


def _counterpart(parameter: Parameter, value: ParameterValue | None) -> ParameterValue | None:
    """The parameter's value that corresponds to a value in another space, or None."""
    if len(parameter.values) == 1:
        return parameter.values[0]
    if value in parameter.values:
        return value
    numbers = [number for number in parameter.values if _is_positive_number(number)]
    if value is None or not _is_positive_number(value) or len(numbers) < len(parameter.values):
        return None
    return min(numbers, key=lambda number: abs(math.log(float(number) / float(value))))


def _is_positive_number(value: ParameterValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _levels(columns: list[Column]) -> Levels:
    counts = [len(column.points) for column in columns]
    squares = np.zeros((sum(counts), sum(counts)))
    end = 0
    for column, count in zip(columns, counts, strict=True):
        block = ((column.points[:, None] - column.points) ** 2).sum(axis=2)
        squares[end : end + count, end : end + count] = block
        end += count
    priors = np.array([column.scale_prior for column in columns]).reshape(-1, 2)
    return Levels(squares, np.repeat(np.arange(len(counts)), counts), priors)


def _why_empty(space: SearchSpace, census: Census) -> str:
    """One sentence that says how many combinations each rule prunes."""
    reasons = {rule.name: rule.reason for rule in space.constraints}
    most_first = sorted(census.removed.items(), key=lambda pair: -pair[1])
    each = "; ".join(f"{name} removed {count} ({reasons[name]})" for name, count in most_first)
    about = "" if census.is_complete else "about "
    return (
        f"no configuration of the search space is valid: of {about}{census.combinations} "
        f"combinations {each}: change the shape, or relax a rule"
    )
