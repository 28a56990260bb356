"""Whether failing follows a pattern, so that a failure says something about its neighbours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from engine.search.model.blas_threads import one_blas_thread
from engine.search.model.gaussian_process import MAX_ROWS, Hyperparameters, Kernel
from engine.search.model.levels import Levels
from engine.search.model.milestones import milestone
from engine.search.model.search_state import SearchState

__all__ = ["Failures", "pattern_evidence"]

Floats = npt.NDArray[np.float64]

# Patterns that are compared, all equally probable: length scales per square root of the number of
# parameters, and shares of the variance of failing that follow a pattern of that scale.
_LENGTH_SCALES = (0.35, 0.7, 1.4)
_SHARES = (0.3, 0.6, 0.9)

# Failures are taken for random ones once they are so much more probable without a pattern, as a
# logarithm. Until then they count as slow: most failures do have a cause.
_RANDOM = 2.0

# The part of a pattern's variance in which all parameters act together; the rest is a sum over
# single ones.
_JOINT_PART = 0.7

# A part of the variance that no pattern explains, which keeps the variances positive.
_LEAST_NOISE = 1e-3


class Failures:
    """What the failures of one search say about other candidates.

    Beyond a limit all configurations fail, and a failure is best taken for a slow time: the search
    keeps away from its neighbours. Failures at random say nothing, and taken for slow times they
    would drive the search away from where it found fast ones. What is kept between calls only
    avoids computing it again.
    """

    def __init__(self) -> None:
        self._decided: tuple[tuple[int, int], bool] | None = None

    def _follow_a_pattern(self, state: SearchState) -> bool:
        """Whether they may follow one: not if they are far more probable without."""
        # Decided again at milestones only, as models are fitted.
        known = state.settled[: milestone(len(state.settled))][-MAX_ROWS:]
        failed = np.array([state.times_s[number] is None for number in known], dtype=np.float64)
        if failed.all() or not failed.any():
            return True
        key = len(known), known[-1]
        if self._decided is None or self._decided[0] != key:
            rows = state.candidates.indicators(known)
            with one_blas_thread():
                evidence = pattern_evidence(state.candidates.levels, rows, failed)
            self._decided = key, evidence > -_RANDOM
        return self._decided[1]

    def forget_random_ones(self, state: SearchState) -> SearchState:
        """The state without its failures where these follow no pattern."""
        if self._follow_a_pattern(state):
            return state
        times_s = {number: time for number, time in state.times_s.items() if time is not None}
        taken = [n for n in state.taken if n in times_s or n not in state.times_s]
        return replace(state, taken=taken, times_s=times_s)


def pattern_evidence(levels: Levels, rows: Floats, failed: Floats) -> float:
    """The logarithm of how much more probable failures are with a pattern than without.

    A failure is 1 and a time is 0. With a pattern they are a Gaussian process, as in least-squares
    classification (Rasmussen and Williams, section 6.5), whose likelihood is averaged over the
    patterns; without one they are independent. The eigenvectors of a kernel are those of its sum
    with noise, so one decomposition serves all shares.

    Args:
        levels: of the space.
        rows: shape (rows, levels), of what was tried.
        failed: shape (rows,), 1 for a failure and 0 for a time; both must occur.
    """
    centred, variance, count = failed - failed.mean(), failed.var(), levels.parameters
    found = []
    for length_scale in _LENGTH_SCALES:
        scales = np.full(count, length_scale * np.sqrt(count))
        kernel = Kernel(levels, Hyperparameters(scales, _JOINT_PART, 1 - _JOINT_PART, 0.0))
        values, vectors = np.linalg.eigh(kernel.total(rows, rows))
        squares = (vectors.T @ centred) ** 2
        for share in _SHARES:
            spectrum = share * np.maximum(values, 0.0) + 1 - share + _LEAST_NOISE
            found.append(_log_likelihood(variance * spectrum, squares))
    none = _log_likelihood(np.full(len(rows), variance), centred**2)
    return float(logsumexp(found) - np.log(len(found)) - none)


def _log_likelihood(variances: Floats, squares: Floats) -> float:
    """Of independent normal numbers with these variances and squares, up to a constant."""
    return float(-((squares / variances).sum() + np.log(variances).sum()) / 2)
