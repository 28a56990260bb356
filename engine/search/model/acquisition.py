"""Acquisition functions: the improvement to expect of configurations not tried yet."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import erfcx, ndtr

__all__ = ["expected_hypervolume_improvement", "log_expected_improvement"]

Floats = npt.NDArray[np.float64]

_LOG_SQRT_TWO_PI = 0.5 * np.log(2 * np.pi)

# Below this many standard deviations the improvement is computed by its scaled form, and below the
# second by its asymptotic expansion, since 1 - x loses all digits there.
_TAIL = -1.0
_FAR_TAIL = -1e3


def log_expected_improvement(mean: Floats, deviation: Floats, best: float) -> Floats:
    """Logarithm of the expected improvement on the lowest target so far.

    With z = (best - mean) / deviation it is log(deviation * (pdf(z) + z * cdf(z))), which stays
    finite where the improvement itself underflows (Ament et al., "Unexpected improvements to
    expected improvement for Bayesian optimization", NeurIPS 2023, equation 9).

    Args:
        mean: shape (rows,), expected targets.
        deviation: shape (rows,), their standard deviations, all positive.
        best: lowest target so far.
    """
    z = (best - mean) / deviation
    result = np.empty_like(z)
    near, far = z > _TAIL, z < _FAR_TAIL
    tail = ~near & ~far
    density = np.exp(-0.5 * z[near] ** 2 - _LOG_SQRT_TWO_PI)
    result[near] = np.log(density + z[near] * ndtr(z[near]))
    scaled = z[tail] * np.sqrt(np.pi / 2) * erfcx(-z[tail] / np.sqrt(2))
    result[tail] = np.log1p(scaled) - 0.5 * z[tail] ** 2 - _LOG_SQRT_TWO_PI
    result[far] = -2 * np.log(-z[far]) - 0.5 * z[far] ** 2 - _LOG_SQRT_TWO_PI
    return result + np.log(deviation)


def expected_hypervolume_improvement(
    mean: Floats, deviation: Floats, front: Floats, reference: Floats
) -> Floats:
    """Expected hypervolume improvement of a Pareto front of two objectives, both minimised.

    The area that a point (u, v) adds is a sum over strips between neighbours of the front: the part
    of the strip that lies right of u, times how far v lies below the front there. With u and v
    independent the expectation of each product is one of expected improvements (Emmerich, Deutz and
    Klinkenberg, "Hypervolume-based expected improvement: monotonicity properties and exact
    computation", CEC 2011).

    Args:
        mean: shape (rows, 2), expected objectives.
        deviation: shape (rows, 2), their standard deviations, all positive.
        front: shape (points, 2), what no other point beats in both, in any order.
        reference: shape (2,), worse than every point of the front in both objectives.
    """
    points = np.unique(front, axis=0)  # in ascending order of the first objective
    ends = [*points[:, 0], reference[0]]
    heights = [reference[1], *points[:, 1]]
    result, left = np.zeros(len(mean)), np.zeros(len(mean))
    for end, height in zip(ends, heights, strict=True):
        right = np.exp(log_expected_improvement(mean[:, 0], deviation[:, 0], end))
        below = np.exp(log_expected_improvement(mean[:, 1], deviation[:, 1], height))
        result += (right - left) * below
        left = right
    return result
