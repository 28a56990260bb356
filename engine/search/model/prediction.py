"""What a Gaussian process predicts of many configurations, computed as far as it is asked for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dtrtri, dtrtrs

from engine.search.model.gaussian_process import JITTER, GaussianProcess, Inputs, cholesky

__all__ = ["Prediction", "Score"]

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

# The score of configurations, from their places and their standard deviations. It must not fall as
# a deviation grows.
Score = Callable[[Numbers, Floats], Floats]

# By so many trials the deviations are bounded first, where there are half as many more at least.
_FEW_TRIALS = 100

# Of how many configurations with the highest bounds the score is computed in full. The highest of
# these is what the others' bounds have to reach.
_LEADERS = 8

# Bounds that are lower by less may come of rounding.
_TOLERANCE = 1e-5


class Prediction:
    """What a process predicts of some configurations, while others are being tried.

    Those are assumed to turn out as predicted, which leaves the means as they are and lowers the
    deviations near them. This is the kriging believer of Ginsbourger, Le Riche and Carraro,
    "Kriging is well-suited to parallelize optimization" (2010).

    Args:
        process: what predicts.
        inputs: the configurations.

    Attributes:
        mean: shape (inputs,), the expected targets.
    """

    def __init__(self, process: GaussianProcess, inputs: Inputs) -> None:
        self._process = process
        self._inputs = inputs
        self._known = process.inputs
        self._factor = process.factor
        self._cross = process.covariance(inputs, process.inputs)
        self.mean: Floats = self._cross @ process.weights
        self._prior_variance = process.prior_variance(inputs)
        self._inverse = _inverse_of_lower(self._factor)
        self._explained: Floats | None = None  # shape (trials, inputs)

    @property
    def deviation(self) -> Floats:
        """Shape (inputs,), standard deviations of the targets without noise."""
        return _deviation(self._prior_variance - _squares(self._all_explained().T))

    def scores(self, score: Score) -> Floats:
        """Shape (inputs,), the score of each that may have the highest; of others an upper bound.

        A deviation falls with each trial that is taken into account, so a few trials bound the
        scores. Only where the bound is above a score in full are all trials taken into account.
        """
        places = np.arange(len(self._inputs))
        if self._explained is not None or 2 * len(self._factor) < 3 * _FEW_TRIALS:
            return score(places, self.deviation)
        few = _inverse_of_lower(self._factor[:_FEW_TRIALS, :_FEW_TRIALS])
        explained = self._cross[:, :_FEW_TRIALS] @ few.T
        result = score(places, _deviation(self._prior_variance - _squares(explained)))
        leaders = np.argpartition(-result, min(_LEADERS, len(places) - 1))[:_LEADERS]
        highest = score(leaders, self._deviation_at(leaders)).max()
        left = np.flatnonzero(result >= highest - _TOLERANCE)
        result[left] = score(left, self._deviation_at(left))
        return result

    def believe(self, tried: Inputs) -> None:
        """Take more configurations that are being tried; each adds a row to each matrix."""
        process, size = self._process, len(self._known)
        explained = self._all_explained()
        shared = _solve_lower(self._factor, process.covariance(self._known, tried))
        own = process.covariance(tried, tried) - shared.T @ shared
        own[np.diag_indices(len(tried))] += process.noise_variance
        own_factor = cholesky(own)
        unexplained = process.covariance(tried, self._inputs) - shared.T @ explained
        rows = _solve_lower(own_factor, unexplained)
        self._factor = np.block(
            [[self._factor, np.zeros((size, len(tried)))], [shared.T, own_factor]]
        )
        self._known = self._known.followed_by(tried)
        self._explained = np.vstack([explained, rows])

    def _all_explained(self) -> Floats:
        """The trials' covariances with the configurations, made independent of each other."""
        if self._explained is None:
            self._explained = self._inverse @ self._cross.T
        return self._explained

    def _deviation_at(self, places: Numbers) -> Floats:
        """The deviations of some configurations."""
        explained = self._cross[places] @ self._inverse.T
        return _deviation(self._prior_variance[places] - _squares(explained))


def _squares(rows: Floats) -> Floats:
    """The sum of squares of each row."""
    result: Floats = np.einsum("ij,ij->i", rows, rows)
    return result


def _deviation(variance: Floats) -> Floats:
    result: Floats = np.sqrt(np.maximum(variance, JITTER**2))
    return result


def _solve_lower(factor: Floats, right: Floats) -> Floats:
    """The solution of a lower triangular system with one or more right sides."""
    result: Floats = dtrtrs(factor, right, lower=1)[0]
    return result


def _inverse_of_lower(factor: Floats) -> Floats:
    """The inverse of a lower triangular matrix.

    For a thousand right sides and more, a product with it takes a third of the time of a solution.
    """
    inverse: Floats = dtrtri(factor, lower=1)[0]
    return inverse
