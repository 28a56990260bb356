"""Times as a model learns them: their logarithms, standardised, the slow ones held back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Scale", "scaled", "targets"]

Floats = npt.NDArray[np.float64]

# A time counts up to so many times as far above the best as the median is, on the scale of
# logarithms: how bad the bad ones are says nothing about the good ones.
_WIDTH = 2.0

# A scale from elsewhere counts like so many times of one's own.
_TIMES_ELSEWHERE = 5


@dataclass(frozen=True)
class Scale:
    """How far logarithms of times lie apart.

    Args:
        deviation: their standard deviation.
        spread: from the least of them to their median.
    """

    deviation: float
    spread: float


def targets(times_s: Sequence[float | None], elsewhere: Scale | None = None) -> Floats:
    """What the model learns: less is faster. Where there is nothing to tell apart, zeros.

    A failure counts as the slowest.

    Args:
        times_s: times in seconds, all positive; None for a failure.
        elsewhere: of times of other trials. A few that a good guess chose are close together, and
            say little about the space.
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
    limit = min(best + _WIDTH * width, worst) if width > 0 else worst
    values = np.where(np.isnan(logarithms), limit, np.minimum(logarithms, limit))
    deviation = float(values.std()) if values.max() > values.min() else 0.0
    if elsewhere is not None:
        weight = len(values) / (len(values) + _TIMES_ELSEWHERE)
        deviation = weight * deviation + (1 - weight) * elsewhere.deviation
    if deviation == 0:
        return np.zeros(len(values)), Scale(0.0, spread)
    return (values - values.mean()) / deviation, Scale(deviation, spread)
