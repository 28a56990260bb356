"""A robust estimate with a confidence interval: Wilcoxon's signed ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Interval", "centre", "fewest_values"]


@dataclass(frozen=True)
class Interval:
    """An estimate of the centre of values, and its confidence interval.

    Args:
        centre: the estimate.
        low, high: ends of the confidence interval.
    """

    centre: float
    low: float
    high: float


def centre(values: Sequence[float], confidence: float) -> Interval:
    """The centre of symmetrically distributed values, even with heavy tails.

    The estimate is Hodges and Lehmann's, the median of the means of all pairs (a value with itself
    included), and the interval the exact one that belongs to Wilcoxon's signed-rank test
    (Hollander, Wolfe and Chicken, "Nonparametric statistical methods", 2014, section 3.3).

    Args:
        values: at least `fewest_values(confidence)` of them.
        confidence: chance that the interval holds the true centre, such as 0.95.

    Raises:
        ValueError: for fewer values: nothing can be said with that confidence.
    """
    count = len(values)
    if count < fewest_values(confidence):
        raise ValueError(f"{count} values are too few for a confidence of {confidence}")
    row, column = np.triu_indices(count)
    points = np.asarray(values, dtype=np.float64)
    means = np.sort((points[row] + points[column]) / 2)
    outside = _outside(count, confidence)
    return Interval(float(np.median(means)), float(means[outside]), float(means[-1 - outside]))


def fewest_values(confidence: float) -> int:
    """How many values an interval of this confidence needs: with n its ends hold 1 - 2**(1 - n)."""
    return int(np.ceil(1 - np.log2(1 - confidence)))


def _outside(count: int, confidence: float) -> int:
    """How many means of pairs lie below the interval, and as many above it."""
    below = np.cumsum(_rank_sums(count)) / 2.0**count
    return max(int(np.searchsorted(below, (1 - confidence) / 2, side="right")) - 1, 0)


def _rank_sums(count: int) -> npt.NDArray[np.float64]:
    """In how many of the 2**count signs the ranks with a plus have each sum, from 0."""
    ways = np.zeros(count * (count + 1) // 2 + 1)
    ways[0] = 1
    for rank in range(1, count + 1):
        ways[rank:] = ways[rank:] + ways[:-rank]
    return ways
