"""The surrogate: what the trials so far predict for other candidates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

from engine.search.model.gaussian_process import (
    MAX_FITTED_ROWS,
    MAX_ROWS,
    GaussianProcess,
    Hyperparameters,
    Inputs,
    fit,
)
from engine.search.model.search_state import SearchState
from engine.study.selection import fastest_and_latest

__all__ = ["Surrogate", "candidate_pool", "training_set"]

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

# Hyperparameters are fitted again each time the training set has grown by one part in so many.
_REFIT_PARTS = 20

# The size of the random sample in the candidate pool.
_SAMPLED_CANDIDATES = 2000


class Surrogate:
    """A Gaussian process surrogate of one objective.

    A prediction is a function of the search state alone; what is kept between predictions only
    avoids fitting again.
    """

    def __init__(self) -> None:
        self._fitted: tuple[Sequence[int], Hyperparameters] | None = None
        # The matrices are small, and more threads would compete with builds and boards.
        self._threads = ThreadpoolController()

    def __call__(
        self, state: SearchState, values: Callable[[list[int]], Floats], choice: Numbers
    ) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the objective for candidates.

        Candidates that are being tried are assumed to turn out as predicted. This is the kriging
        believer of Ginsbourger, Le Riche and Carraro, "Kriging is well-suited to parallelize
        optimization" (2010).

        Args:
            state: at least one candidate must have an outcome.
            values: gives the standardised objective of candidates with an outcome.
            choice: the candidates to predict.
        """
        with self._threads.limit(limits=1, user_api="blas"):
            return self._predict(state, values, choice)

    def _predict(
        self, state: SearchState, values: Callable[[list[int]], Floats], choice: Numbers
    ) -> tuple[Floats, Floats]:
        levels = state.candidates.levels
        hyperparameters = self._hyperparameters(state, values)
        numbers = training_set(state)
        known = values(numbers)
        process = GaussianProcess(levels, _inputs(state, numbers), known, hyperparameters)
        being_tried = [number for number in state.taken if number not in state.times_s]
        if being_tried:
            expected, _ = process.predict(_inputs(state, being_tried))
            believed = np.concatenate([known, expected])
            inputs = _inputs(state, numbers + being_tried)
            process = GaussianProcess(levels, inputs, believed, hyperparameters)
        return process.predict(_inputs(state, choice.tolist()))

    def _hyperparameters(
        self, state: SearchState, values: Callable[[list[int]], Floats]
    ) -> Hyperparameters:
        """Fitted to the first trials, whose number grows in steps."""
        step = max(1, len(state.taken) // _REFIT_PARTS)
        first = state.taken[: len(state.taken) // step * step]
        numbers = _chosen(first, state.times_s, MAX_FITTED_ROWS)
        if self._fitted is None or self._fitted[0] != numbers:
            inputs = _inputs(state, numbers)
            self._fitted = numbers, fit(state.candidates.levels, inputs, values(numbers))
        return self._fitted[1]


def training_set(state: SearchState) -> list[int]:
    """The candidates that a surrogate is trained on, in the order of proposal."""
    return _chosen(state.taken, state.times_s, MAX_ROWS)


def candidate_pool(state: SearchState, leaders: Sequence[int]) -> Numbers:
    """The free candidates that the acquisition function is evaluated at, in ascending order.

    All of them, or a random sample together with all that differ in one parameter from a leader."""
    free = np.flatnonzero(state.free)
    if len(free) <= _SAMPLED_CANDIDATES:
        return free
    sample = state.rng.choice(free, size=_SAMPLED_CANDIDATES, replace=False)
    close = np.concatenate([state.candidates.neighbours(n) for n in leaders])
    return np.union1d(sample, close[state.free[close]])


def _inputs(state: SearchState, numbers: list[int]) -> Inputs:
    """Candidates as the Gaussian process compares them."""
    rows = state.candidates.indicators(numbers)
    transfer = state.transfer
    return Inputs(rows, None if transfer is None else transfer.expected[numbers])


def _chosen(taken: Sequence[int], times_s: Mapping[int, float | None], limit: int) -> list[int]:
    """At most `limit` of the candidates with an outcome, in the order of proposal."""
    settled = [number for number in taken if number in times_s]
    places = fastest_and_latest([times_s[number] for number in settled], limit)
    return [settled[place] for place in places]
