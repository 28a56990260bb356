"""Which trials of a long study to learn from: the fastest half, and the latest others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["fastest_and_latest"]


def fastest_and_latest(times_s: Sequence[float | None], limit: int) -> list[int]:
    """Places of trials, `limit` at most, in ascending order; all if there are no more.

    Args:
        times_s: of trials in the order of asking, None for a failure.
        limit: half of it, rounded down, is for the fastest.
    """
    if len(times_s) <= limit:
        return list(range(len(times_s)))
    known = np.array(times_s, dtype=np.float64)  # NaN for a failure, which is sorted last
    fastest, others = np.split(np.argsort(known, kind="stable"), [limit // 2])
    latest = np.sort(others)[-(limit - limit // 2) :]
    places: list[int] = np.sort(np.concatenate([fastest, latest])).tolist()
    return places
