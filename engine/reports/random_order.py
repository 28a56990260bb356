"""What the best of a few of a study's trials would be, had they come in random order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

__all__ = ["median_best"]


def median_best(times_s: Sequence[float | None]) -> list[float | None]:
    """The median, over all orders of the trials, of the fastest of the first 1, 2, ... of them.

    Of N trials, j take at most t. The fastest of k drawn without replacement is among those j with
    probability 1 - C(N - j, k) / C(N, k); the median is the smallest t where that reaches a half.

    Args:
        times_s: of every trial in seconds, None for a failure.

    Returns:
        For each number of trials the median in seconds; None while it is a failure.
    """
    finite = np.sort(np.array([time_s for time_s in times_s if time_s is not None]))
    total = len(times_s)
    medians: list[float | None] = []
    place = finite.size  # the median falls as more are drawn, so the place only moves down
    for count in range(1, total + 1):
        while place > 1 and _misses(total, place - 1, count) <= 0.5:
            place -= 1
        reached = finite.size and _misses(total, place, count) <= 0.5
        medians.append(float(finite[place - 1]) if reached else None)
    return medians


def _misses(total: int, fast: int, drawn: int) -> float:
    """The probability that none of `fast` trials is among those drawn."""
    slow = total - fast
    if drawn > slow:
        return 0.0
    chosen_slow = gammaln(slow + 1) - gammaln(slow - drawn + 1)
    chosen = gammaln(total + 1) - gammaln(total - drawn + 1)
    return float(np.exp(chosen_slow - chosen))
