"""Which trials of a long study to learn from: the fastest half, and the latest others."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["fastest_and_latest"]


def fastest_and_latest(times_s: Sequence[float | None], limit: int) -> list[int]:
    """Places of trials, `limit` at most, in ascending order; all if there are no more.

    Args:
        times_s: of trials in the order of asking, None for a failure.
        limit: half of it, rounded down, is for the fastest.
    """
    places = range(len(times_s))
    by_time = sorted(places, key=lambda place: (times_s[place] is None, times_s[place] or 0.0))
    fastest = by_time[: limit // 2]
    latest = sorted(by_time[limit // 2 :])[-(limit - limit // 2) :]
    return sorted([*fastest, *latest])
