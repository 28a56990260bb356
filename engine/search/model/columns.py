"""What the surrogate compares configurations by: their parameters, and what follows from these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from search_spaces.space import Parameter

__all__ = ["Column", "columns_of", "coordinates"]

Floats = npt.NDArray[np.float64]
Ranks = npt.NDArray[np.int64]

# How far a property has to change for times to change: mean and standard deviation of the logarithm
# of the length scale per square root of the number of properties. Sizes matter within a third of
# their range; a switch or an alignment often matters little. Close to what fits find on the spaces
# of benchmarks/, as benchmarks/search/bench_length_scales.py prints, but for named values: fits
# find them to matter less than sizes, and with such a prior a search may never leave a slow
# algorithm.
_SEVERAL_VALUES = (-1.1, 0.7)
_TWO_VALUES = (0.5, 1.0)
_ALIGNMENT = (0.7, 0.8)


@dataclass(frozen=True)
class Column:
    """One property of configurations, with a few levels.

    Args:
        parameter: the number of the parameter that it follows from.
        levels: shape (values of the parameter,), the level of each value.
        points: shape (levels, coordinates), for distances between levels.
        scale_prior: the mean and standard deviation in `Levels.scale_priors`.
    """

    parameter: int
    levels: Ranks
    points: Floats
    scale_prior: tuple[float, float]

    def of(self, ranks: Ranks) -> Ranks:
        """Shape (rows,), the level of each row of ranks."""
        return self.levels[ranks[:, self.parameter]]


def columns_of(parameters: Sequence[Parameter]) -> list[Column]:
    """A column for each parameter with several values, and one for each alignment."""
    found = []
    for number, parameter in enumerate(parameters):
        count = len(parameter.values)
        if count > 1:
            ranks = np.arange(count)
            prior = _scale_prior(parameter)
            found.append(Column(number, ranks, coordinates(parameter, ranks), prior))
    for number, parameter in enumerate(parameters):
        alignment = _alignment(number, parameter)
        if alignment is not None:
            found.append(alignment)
    return found


def coordinates(parameter: Parameter, ranks: Ranks) -> Floats:
    """Coordinates of one parameter's ranks, shape (ranks, coordinates).

    An ordered parameter is its rank scaled to 0..1; any other has one coordinate per value, so that
    two different values are always 1 apart.
    """
    count = len(parameter.values)
    if parameter.is_ordered:
        return _scaled(ranks, count)
    one_hot: Floats = np.eye(count)[ranks] / np.sqrt(2)
    return one_hot


def _scale_prior(parameter: Parameter) -> tuple[float, float]:
    """What is expected of the length scale of a parameter with several values."""
    return _TWO_VALUES if len(parameter.values) == 2 else _SEVERAL_VALUES


def _scaled(ranks: Ranks, count: int) -> Floats:
    """Ranks of so many levels, scaled to 0..1, shape (ranks, 1)."""
    return (ranks / max(count - 1, 1)).reshape(-1, 1)


def _alignment(number: int, parameter: Parameter) -> Column | None:
    """The power of two that divides each value of an integer parameter.

    Vectors, banks, lines and waves come in powers of two, so 96 may be fast where 88 and 104 are
    slow. None where it says no more than the order of the values does, as for powers of two.
    """
    values = parameter.values
    if not parameter.is_ordered or not all(type(value) is int and value > 0 for value in values):
        return None
    powers = np.array([_power_of_two_in(int(value)) for value in values])
    found, levels = np.unique(powers, return_inverse=True)
    if len(found) < 2 or (np.diff(levels) > 0).all():
        return None
    return Column(number, levels, _scaled(np.arange(len(found)), len(found)), _ALIGNMENT)


def _power_of_two_in(value: int) -> int:
    """The largest power of two that divides a positive integer, as its exponent."""
    return (value & -value).bit_length() - 1
