"""The surrogate: what the trials so far predict for other candidates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from engine.search.model.blas_threads import one_blas_thread
from engine.search.model.fit import MAX_FITTED_ROWS, fit
from engine.search.model.gaussian_process import GaussianProcess, Hyperparameters, Inputs
from engine.search.model.milestones import milestone
from engine.search.model.prediction import Prediction, Score
from engine.search.model.search_state import SearchState

__all__ = ["Surrogate", "candidate_pool"]

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

# The size of the random sample in the candidate pool. In long studies it is smaller, which bounds
# the cost of a proposal: so many covariances with the trials.
_MOST_SAMPLED, _FEWEST_SAMPLED = 2000, 1000
_SAMPLED_COVARIANCES = 200_000


@dataclass
class _Predicted:
    """A prediction, and the candidates being tried that it knows of, in the order of proposal."""

    numbers: Sequence[int]
    known: Floats
    choice: Numbers
    prediction: Prediction
    believed: list[int] = field(default_factory=list)

    def serves(self, numbers: Sequence[int], known: Floats, choice: Numbers) -> bool:
        """Whether it is of these trials and candidates."""
        same = self.numbers == numbers and np.array_equal(self.known, known)
        return same and np.array_equal(self.choice, choice)


class Surrogate:
    """A Gaussian process surrogate of one objective.

    A prediction is a function of the search state alone; what is kept between predictions only
    avoids computing it again: the fit, and for a batch of proposals the prediction that is the same
    but for what was proposed since.

    Args:
        bowl: whether it expects a slope over the distance from the middle of the space.
    """

    def __init__(self, *, bowl: bool = False) -> None:
        self._bowl = bowl
        self._fitted: tuple[list[int], Hyperparameters] | None = None
        self._predicted: _Predicted | None = None

    def __call__(
        self,
        state: SearchState,
        values: Callable[[list[int]], Floats],
        choice: Numbers,
    ) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the objective for candidates.

        Candidates that are being tried are assumed to turn out as predicted.

        Args:
            state: its training set must not be empty.
            values: gives the standardised objective of candidates in it.
            choice: the candidates to predict.
        """
        with one_blas_thread():
            prediction = self._predict(state, values, choice)
            return prediction.mean, prediction.deviation

    def scores(
        self,
        state: SearchState,
        values: Callable[[list[int]], Floats],
        choice: Numbers,
        score: Callable[[Floats], Score],
    ) -> Floats:
        """The score of each candidate that may have the highest; of others an upper bound.

        Args:
            state, values, choice: as of a call.
            score: given the means, what gives scores; see `Score`.
        """
        with one_blas_thread():
            prediction = self._predict(state, values, choice)
            return prediction.scores(score(prediction.mean))

    def _predict(
        self,
        state: SearchState,
        values: Callable[[list[int]], Floats],
        choice: Numbers,
    ) -> Prediction:
        numbers = state.training_set
        known = values(numbers)
        being_tried = state.being_tried
        kept = self._predicted
        if (
            kept is None
            or not kept.serves(numbers, known, choice)
            or kept.believed != being_tried[: len(kept.believed)]
        ):
            levels = state.candidates.levels
            hyperparameters = self._hyperparameters(state, values)
            process = GaussianProcess(levels, self._inputs(state, numbers), known, hyperparameters)
            prediction = Prediction(process, self._inputs(state, choice))
            kept = self._predicted = _Predicted(numbers, known, choice, prediction)
        if more := being_tried[len(kept.believed) :]:
            kept.prediction.believe(self._inputs(state, more))
            kept.believed += more
        return kept.prediction

    def _hyperparameters(
        self, state: SearchState, values: Callable[[list[int]], Floats]
    ) -> Hyperparameters:
        """Fitted to the first trials, whose number grows in steps."""
        first = state.settled[: milestone(len(state.settled))]
        if self._fitted is None or self._fitted[0] != first:
            chosen = state.chosen(first, MAX_FITTED_ROWS)
            inputs = self._inputs(state, chosen)
            self._fitted = first, fit(state.candidates.levels, inputs, values(chosen))
        return self._fitted[1]

    def _inputs(self, state: SearchState, numbers: list[int] | Numbers) -> Inputs:
        """Candidates as the Gaussian process compares them."""
        candidates, transfer = state.candidates, state.transfer
        return Inputs(
            candidates.indicators(numbers),
            None if transfer is None else transfer.expected[numbers],
            candidates.off_middle[numbers] - 1 if self._bowl else None,
        )


def candidate_pool(state: SearchState, leaders: Sequence[int]) -> Numbers:
    """The candidates that the acquisition function is evaluated at, in ascending order.

    All without an outcome, or a random sample of these together with all that differ in one
    parameter from a leader. Those being tried are among them, so that the proposals of a batch
    choose from one pool.
    """
    unsettled = np.ones(len(state.free), dtype=bool)
    unsettled[list(state.times_s)] = False
    left = np.flatnonzero(unsettled)
    affordable = _SAMPLED_COVARIANCES // max(len(state.times_s), 1)
    size = min(max(affordable, _FEWEST_SAMPLED), _MOST_SAMPLED)
    if len(left) <= size:
        return left
    rng = np.random.default_rng((state.seed, len(state.times_s)))
    chosen = np.zeros(len(unsettled), dtype=bool)
    chosen[rng.choice(left, size=size, replace=False)] = True
    for leader in leaders:
        chosen[state.candidates.neighbours(leader)] = True
    return np.flatnonzero(chosen & unsettled)
