"""Failures that follow a pattern count as slow; random ones are forgotten."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from search_helpers import log_density

from engine.search.model.candidates import Candidates
from engine.search.model.failures import Failures, pattern_evidence
from engine.search.model.gaussian_process import Hyperparameters, Kernel
from engine.search.model.milestones import milestone
from engine.search.model.search_state import SearchState
from search_spaces.space import Parameter, SearchSpace

CUBE = Candidates(SearchSpace(tuple(Parameter(name, tuple(range(1, 9))) for name in "ABC")))
TRIED = np.random.default_rng(0).permutation(len(CUBE))[:60].tolist()
BEING_TRIED = next(number for number in range(len(CUBE)) if number not in TRIED)


def _state(works: np.ndarray) -> SearchState:
    times_s = {number: 1.0 if works[number] else None for number in TRIED}
    free = np.ones(len(CUBE), dtype=bool)
    return SearchState(CUBE, free, [*TRIED, BEING_TRIED], times_s, np.random.default_rng(0))


@pytest.mark.parametrize(
    "works",
    [
        CUBE.ranks[:, 0] < 4,
        CUBE.ranks.max(axis=1) < 4,
        CUBE.ranks.sum(axis=1) > 12,
        np.full(len(CUBE), True),
        np.full(len(CUBE), False),
    ],
    ids=["half", "corner", "slope", "none fail", "all fail"],
)
def test_failures_beyond_a_limit_are_kept(works: np.ndarray) -> None:
    state = _state(works)
    assert Failures().forget_random_ones(state) is state


@pytest.mark.parametrize("part", [0.3, 0.5, 0.7])
def test_failures_at_random_are_forgotten(part: float) -> None:
    works = np.random.default_rng(1).random(len(CUBE)) > part
    state = Failures().forget_random_ones(_state(works))
    timed = [number for number in TRIED if works[number]]
    assert list(state.times_s) == timed
    assert list(state.taken) == [*timed, BEING_TRIED]


def test_the_evidence_is_that_of_the_dense_formula() -> None:
    rows = CUBE.indicators(TRIED)
    failed = (CUBE.ranks[TRIED].sum(axis=1) > 12).astype(float)
    centred, variance, count = failed - failed.mean(), failed.var(), CUBE.levels.parameters

    def likelihood(share: float, scale: float) -> float:
        kernel = Hyperparameters(np.full(count, scale * count**0.5), 0.7 * share, 0.3 * share, 0.0)
        covariance = Kernel(CUBE.levels, kernel).total(rows, rows)
        covariance += (1 - share + 1e-3) * np.eye(len(rows))
        return log_density(centred, variance * covariance)

    found = [likelihood(share, scale) for share in (0.3, 0.6, 0.9) for scale in (0.35, 0.7, 1.4)]
    none = log_density(centred, variance * np.eye(len(rows)))
    expected = logsumexp(found) - np.log(len(found)) - none
    assert pattern_evidence(CUBE.levels, rows, failed) == pytest.approx(expected)


def test_milestones_grow_by_an_eighth() -> None:
    reached = [milestone(trials) for trials in range(1100)]
    assert reached[:10] == list(range(10))
    assert all(now <= trials < now + max(1, now // 8) for trials, now in enumerate(reached))
    assert len(set(reached[1000:])) <= 2
