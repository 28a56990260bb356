"""Targets of the surrogate: standardised logarithms of times, the slow ones drawn together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Scale", "scaled", "targets"]

Floats = npt.NDArray[np.float64]

# A failure counts as a time so many times as far from the best as the median is, by logarithms: it
# may lie beside the optimum, as beyond a limit.
_FAILURE_WIDTHS = 2.0

# A failure is at least so many times slower than the best: with one time or a few close ones, the
# slowest of them says nothing about failures.
_FAILURE_RATIO = 2.0

# The scale of a history weighs as much as so many trials.
_TIMES_ELSEWHERE = 5


@dataclass(frozen=True)
class Scale:
    """The scale of logarithms of times.

    Args:
        deviation: their standard deviation.
        spread: from the lowest to the median.
    """

    deviation: float
    spread: float


def targets(times_s: Sequence[float | None], elsewhere: Scale | None = None) -> Floats:
    """The targets of the surrogate; lower is faster. All zeros if the times are equal.

    Differences from the best are compressed by a logarithm once more, from where the median is on:
    near the best they count in full, and of slow times little more than their order is kept, which
    still tells what is slow from what is very slow.

    Args:
        times_s: times in seconds, all positive; None for a failure.
        elsewhere: the scale of a history. The first few trials of a warm start are close together
            and say little about the space.
    """
    return scaled(times_s, elsewhere)[0]


def scaled(times_s: Sequence[float | None], elsewhere: Scale | None = None) -> tuple[Floats, Scale]:
    """The targets, and the scale of their logarithms; one target is one standard deviation."""
    logarithms = np.log([np.nan if seconds is None else seconds for seconds in times_s])
    known = logarithms[~np.isnan(logarithms)]
    if len(known) == 0:
        return np.zeros(len(logarithms)), Scale(0.0, 0.0)
    best, worst = known.min(), known.max()
    spread = float(np.median(known) - best)
    width = max(spread, elsewhere.spread) if elsewhere else spread
    limit = min(best + _FAILURE_WIDTHS * width, worst) if width > 0 else worst
    failure = max(limit, best + np.log(_FAILURE_RATIO))
    values = np.where(np.isnan(logarithms), failure, logarithms) - best
    if width > 0:
        values = width * np.log1p(values / width)
    deviation = float(values.std()) if values.max() > values.min() else 0.0
    if elsewhere is not None:
        weight = len(values) / (len(values) + _TIMES_ELSEWHERE)
        deviation = weight * deviation + (1 - weight) * elsewhere.deviation
    if deviation == 0:
        return np.zeros(len(values)), Scale(0.0, spread)
    return (values - values.mean()) / deviation, Scale(deviation, spread)
