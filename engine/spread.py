"""Proposals that spread over a space, before there is anything to learn from."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from engine.situation import Situation

__all__ = ["farthest", "spread"]

# Candidates drawn for each trial of the spread start; the one farthest from all tried is taken.
# More would push every start into the corners of the space.
_SPREAD_DRAWS = 10


def spread(situation: Situation) -> int:
    """Of a few free candidates, the one farthest from all that were taken before.

    Those that fewest soft rules doubt come first. This is Mitchell's best-candidate sampling
    (SIGGRAPH 1991) over the valid configurations.
    """
    free = np.flatnonzero(situation.free)
    doubts = situation.candidates.doubts[free]
    free = free[doubts == doubts.min()]
    drawn = situation.rng.choice(free, size=min(_SPREAD_DRAWS, len(free)), replace=False)
    return farthest(situation, drawn)


def farthest(situation: Situation, numbers: npt.NDArray[np.int64]) -> int:
    """The one of these candidates that is farthest from its nearest taken one; the first of equals.

    Where none is taken yet, the one farthest from the middle.
    """
    points = situation.candidates.points
    taken = points[~situation.free]
    if len(taken) == 0:
        taken = points.mean(axis=0, keepdims=True)
    gap = np.full(len(numbers), np.inf)
    for point in taken:
        np.minimum(gap, ((points[numbers] - point) ** 2).sum(axis=1), out=gap)
    return int(numbers[int(gap.argmax())])
