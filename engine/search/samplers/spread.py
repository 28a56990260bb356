"""Proposals that spread evenly over a space."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from engine.search.model.search_state import SearchState

__all__ = ["SPREAD_TRIALS", "SURROGATE_SPREAD_TRIALS", "spread", "spread_evenly"]

# Trials that spread over the space before a model or a population takes over. Few, since budgets
# are 50 to 200; one for each parameter or so is what a first model needs. A Gaussian process is of
# use with fewer.
SPREAD_TRIALS = 10
SURROGATE_SPREAD_TRIALS = 5

# Candidates drawn for each trial. More would push every start into the corners of the space.
_SPREAD_DRAWS = 10


def spread(state: SearchState) -> int:
    """Of a few random free candidates, the one farthest from all that were taken before.

    Candidates that violate the fewest soft rules come first. This is Mitchell's best-candidate
    sampling (SIGGRAPH 1991) over the valid configurations.
    """
    free = np.flatnonzero(state.free)
    soft_violations = state.candidates.soft_violations[free]
    free = free[soft_violations == soft_violations.min()]
    drawn = state.rng.choice(free, size=min(_SPREAD_DRAWS, len(free)), replace=False)
    return _farthest(state, drawn)


def spread_evenly(state: SearchState) -> int:
    """Of all free candidates, the one farthest from all that were taken before."""
    return _farthest(state, np.flatnonzero(state.free))


def _farthest(state: SearchState, numbers: npt.NDArray[np.int64]) -> int:
    """The candidate with the largest distance to its nearest taken one; the first of equals.

    Before any is taken, the one farthest from the centre.
    """
    points = state.candidates.points
    taken = points[~state.free]
    if len(taken) == 0:
        taken = points.mean(axis=0, keepdims=True)
    gap = np.full(len(numbers), np.inf)
    for point in taken:
        np.minimum(gap, ((points[numbers] - point) ** 2).sum(axis=1), out=gap)
    return int(numbers[int(gap.argmax())])
