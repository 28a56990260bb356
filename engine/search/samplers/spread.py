"""Proposals that spread evenly over a space."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from engine.search.model.search_state import SearchState

__all__ = [
    "SPREAD_TRIALS",
    "SURROGATE_SPREAD_TRIALS",
    "beside_or_far",
    "farthest",
    "largest",
    "random_or_near",
    "spread",
    "spread_evenly",
]

# Trials that spread over the space before a model or a population takes over. Few, since budgets
# are 50 to 200; one for each parameter or so is what a first model needs. A Gaussian process is of
# use with fewer.
SPREAD_TRIALS = 10
SURROGATE_SPREAD_TRIALS = 3

# Candidates drawn for each trial. More would push it into the corners of the space, where more
# fails and less is fast.
_SPREAD_DRAWS = 10

# Distances from the middle that differ by less are equal.
_ROUNDING = 1e-9

# Squared distances are compared to so many decimals.
_DECIMALS = 9

# How many neighbours of a configuration that works are tried where most fails.
_PROBES = 3


def spread(state: SearchState, draws: int = _SPREAD_DRAWS) -> int:
    """The middle of the space, and then candidates that are far from all that were taken.

    Candidates that violate the fewest soft rules come first. After the middle it is Mitchell's
    best-candidate sampling (SIGGRAPH 1991) over the valid configurations: of a few random free
    candidates, the one farthest from all that were taken before.

    Args:
        state: with a free candidate at least.
        draws: how many random ones.
    """
    if len(state.taken) <= 1 and state.free[middle := _middle(state)]:
        return middle
    free = _unsuspected(state, np.flatnonzero(state.free))
    drawn = state.rng.choice(free, size=min(draws, len(free)), replace=False)
    return farthest(state, drawn)


def largest(state: SearchState) -> int:
    """The free candidate whose numbers have the highest product; the first of equals.

    Candidates that violate the fewest soft rules come first.
    """
    free = _unsuspected(state, np.flatnonzero(state.free))
    return int(free[state.candidates.log_sizes[free].argmax()])


def beside_or_far(state: SearchState) -> int:
    """Before outcomes are known, by turns a neighbour of the first trial and a far candidate.

    The first trial is the default, or the middle, and the optimum often shares most of its values.
    So what each parameter is worth there is known by the time that the first batch has ended. Where
    rules leave the default no neighbour, those of the second trial are taken.
    """
    if len(state.taken) % 2 == 0:
        for centre in state.taken[:2]:
            beside = state.candidates.neighbours(centre)
            beside = beside[state.free[beside]]
            if len(beside):
                return farthest(state, _unsuspected(state, beside))
    return spread(state)


def random_or_near(state: SearchState) -> int:
    """Where most fails: a candidate next to one that works, or else any free one.

    What works is seldom alone, so a few of its neighbours are tried. If they fail, failures may
    follow no pattern, and no place is better than another.
    """
    points = state.candidates.points
    order = np.random.default_rng(state.seed).permutation(len(points))  # of equally near ones
    for works in state.fastest(len(state.times_s)):
        distances = ((points[order] - points[works]) ** 2).sum(axis=1).round(_DECIMALS)
        near = order[np.argsort(distances, kind="stable")[1 : _PROBES + 1]]
        if state.free[near].any():
            return int(near[state.free[near]][0])
    free = _unsuspected(state, np.flatnonzero(state.free))
    return int(state.rng.choice(free))


def _middle(state: SearchState) -> int:
    """The candidate nearest to the mean of all; of equals, one that the seed decides.

    Extreme values are slow more often than not. The mean is over the valid configurations, so it
    lies among them where rules cut the space down, and has the commonest categories.
    """
    numbers = _unsuspected(state, np.arange(len(state.candidates)))
    off = state.candidates.off_middle[numbers]
    nearest = numbers[off <= off.min() + _ROUNDING]
    return int(np.random.default_rng(state.seed).choice(nearest))


def _unsuspected(state: SearchState, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Those that violate the fewest soft rules."""
    violations = state.candidates.soft_violations[numbers]
    fewest: npt.NDArray[np.int64] = numbers[violations == violations.min()]
    return fewest


def spread_evenly(state: SearchState) -> int:
    """Of all free candidates, the one farthest from all that were taken before."""
    return farthest(state, np.flatnonzero(state.free))


def farthest(state: SearchState, numbers: npt.NDArray[np.int64]) -> int:
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
