"""A Gaussian process over the values of parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dpotrf, dpotrs

from engine.search.model.levels import Levels

__all__ = [
    "JITTER",
    "MAX_ROWS",
    "GaussianProcess",
    "Hyperparameters",
    "Inputs",
    "Kernel",
    "cholesky",
    "trend_kernel",
]

Floats = npt.NDArray[np.float64]

# The most rows in a process; it bounds the cost of a proposal in long studies.
MAX_ROWS = 200

_SQRT5 = np.sqrt(5.0)

# The rows of a covariance that are computed at once: 200 kB with 200 columns.
_ROWS_AT_ONCE = 128

# Added to the noise, so that the covariance of close rows can be factorised.
JITTER = 1e-6

# The mean of the function before any trial is normal with this deviation, in units of standardised
# targets: proposals come from where it is fast, so the trials' own mean is lower than that of the
# space. All of these are chosen by hand, not fitted.
_OFFSET_DEVIATION = 1.0

# The kernel over a transfer model's predictions: the sum of a line and a Matern-5/2 kernel, so that
# the predictions can turn out right, useless or wrong.
_SLOPE_DEVIATION = 0.7
_CURVE_DEVIATION = 1.0
_CURVE_LENGTH = 1.0

# The slope over the distance from the middle of the space.
_BOWL_DEVIATION = 1.0


@dataclass(frozen=True)
class Inputs:
    """Configurations as the kernel compares them.

    Args:
        rows: shape (rows, levels), 1 for each level that a configuration has and 0 elsewhere.
        expected: shape (rows,), predictions of a transfer model in standardised targets; None
            without one.
        off_middle: shape (rows,), how far each is from the middle of the space, 0 on average; None
            if the kernel is to ignore it.
    """

    rows: Floats
    expected: Floats | None = None
    off_middle: Floats | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def followed_by(self, others: Inputs) -> Inputs:
        """These and then others, which have the same fields."""
        return Inputs(
            np.vstack([self.rows, others.rows]),
            _joined(self.expected, others.expected),
            _joined(self.off_middle, others.off_middle),
        )


def _joined(first: Floats | None, second: Floats | None) -> Floats | None:
    return None if first is None or second is None else np.concatenate([first, second])


@dataclass(frozen=True)
class Hyperparameters:
    """The hyperparameters of the kernel.

    Args:
        length_scales: shape (parameters,), in units of the square roots of `Levels.squares`.
        joint_variance: of the part in which all parameters act together, in squared targets.
        additive_variance: of the part that is a sum over single parameters.
        noise_variance: of a target around the function.
    """

    length_scales: Floats
    joint_variance: float
    additive_variance: float
    noise_variance: float

    @classmethod
    def from_logarithms(cls, logarithms: Floats) -> Hyperparameters:
        """From the vector that the fit works on, in the order of the fields."""
        joint, additive, noise = (float(value) for value in np.exp(logarithms[-3:]))
        return cls(np.exp(logarithms[:-3]), joint, additive, noise)


class GaussianProcess:
    """An exact Gaussian process with an unknown mean.

    The kernel is a sum of three: a constant, a Matern-5/2 kernel over all parameters together, and
    the mean of such kernels over each parameter alone (Duvenaud, Nickisch and Rasmussen, "Additive
    Gaussian processes", 2011), which learns the effect of each value from few trials. Where inputs
    say how far they are from the middle, a slope over that is added, so a few slow trials far from
    the middle warn of all such. With a transfer model, a part relates its predictions to the
    targets. The other formulae are those of Rasmussen and Williams, "Gaussian processes for machine
    learning" (2006), section 2.2.

    Args:
        levels: of the space.
        inputs: of the trials.
        targets: shape (rows,), standardised.
        hyperparameters: of the kernel.

    Attributes:
        inputs: of the trials.
        factor: shape (rows, rows), the lower Cholesky factor of the trials' covariance.
        weights: shape (rows,), of each trial's covariance in a mean.
        noise_variance: of a target around the function.
    """

    def __init__(
        self, levels: Levels, inputs: Inputs, targets: Floats, hyperparameters: Hyperparameters
    ) -> None:
        self._kernel = Kernel(levels, hyperparameters)
        self.inputs = inputs
        self.noise_variance = hyperparameters.noise_variance + JITTER
        covariance = self.covariance(inputs, inputs)
        covariance[np.diag_indices(len(inputs))] += self.noise_variance
        self.factor: Floats = cholesky(covariance)
        self.weights: Floats = dpotrs(self.factor, targets, lower=1)[0]
        self._variance = hyperparameters.joint_variance + hyperparameters.additive_variance

    def covariance(self, inputs: Inputs, others: Inputs) -> Floats:
        """Shape (inputs, others), the prior covariance of the function between configurations."""
        lines = _lines(inputs), _lines(others)
        result = self._kernel.total(inputs.rows, others.rows, lines)
        if inputs.expected is not None and others.expected is not None:
            result += _curve_kernel(inputs.expected, others.expected)
        return result

    def prior_variance(self, inputs: Inputs) -> Floats:
        """Shape (inputs,), the diagonal of the prior covariance."""
        return self._variance + _trend_variance(inputs)

    def mean(self, inputs: Inputs) -> Floats:
        """Shape (inputs,), the expected value of the function at other configurations."""
        result: Floats = self.covariance(inputs, self.inputs) @ self.weights
        return result


def cholesky(matrix: Floats) -> Floats:
    """The lower triangular factor of a positive definite matrix, without SciPy's checks."""
    factor, failed = dpotrf(matrix, lower=1)
    if failed:
        raise np.linalg.LinAlgError("the covariance of the trials is not positive definite")
    result: Floats = factor
    return result


@dataclass(frozen=True)
class Parts:
    """A covariance between two sets of rows.

    Args:
        joint, additive: its two parts.
        joint_slope: minus twice the derivative of the first by the squared distance.
    """

    joint: Floats
    additive: Floats
    joint_slope: Floats

    @property
    def total(self) -> Floats:
        return self.joint + self.additive


class Kernel:
    """The kernel; a sum over parameters is a product of rows with a table over the levels."""

    def __init__(self, levels: Levels, hyperparameters: Hyperparameters) -> None:
        self._levels = levels
        self._hyperparameters = hyperparameters
        self._squares = levels.squares / hyperparameters.length_scales[levels.owners, None] ** 2
        # One parameter alone is as far apart as all of them together, on average.
        self._alone = np.sqrt(self._squares * levels.parameters)
        self._share = hyperparameters.additive_variance / max(levels.parameters, 1)
        self._table = np.where(levels.same_owner, self._share * _matern(self._alone), 0.0)

    def __call__(self, rows: Floats, others: Floats) -> Parts:
        squares = rows @ (self._squares @ others.T)
        scaled = _SQRT5 * np.sqrt(squares)
        decay = self._hyperparameters.joint_variance * np.exp(-scaled)
        return Parts(
            joint=decay * (1 + scaled + scaled**2 / 3),
            additive=rows @ (self._table @ others.T),
            joint_slope=5 / 3 * (1 + scaled) * decay,
        )

    def total(
        self, rows: Floats, others: Floats, lines: tuple[Floats, Floats] | None = None
    ) -> Floats:
        """The same as a sum, computed in place and in parts that stay in the processor's cache.

        Args:
            rows, others: of the kernel.
            lines: of each, shape (rows, lines); their products are added.
        """
        squares_table = (_SQRT5**2 * self._squares) @ others.T
        additive_table, additive_rows = self._table @ others.T, rows
        if lines is not None:
            additive_table = np.vstack([additive_table, lines[1].T])
            additive_rows = np.hstack([rows, lines[0]])
        log_variance = np.log(self._hyperparameters.joint_variance)
        result = np.empty((len(rows), len(others)))
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            part = rows[start : start + _ROWS_AT_ONCE]
            covariance = result[start : start + _ROWS_AT_ONCE]
            np.matmul(part, squares_table, out=covariance)
            scaled = np.sqrt(covariance)
            covariance *= 1 / 3
            covariance += scaled
            covariance += 1
            np.subtract(log_variance, scaled, out=scaled)
            covariance *= np.exp(scaled, out=scaled)
            part = additive_rows[start : start + _ROWS_AT_ONCE]
            covariance += np.matmul(part, additive_table, out=scaled)
        return result

    def length_scale_gradient(self, rows: Floats, parts: Parts, slope: Floats) -> Floats:
        """Of a function of the covariance of rows, by the logarithms of the length scales.

        Args:
            rows, parts: what the kernel was called with, twice the same rows, and gave.
            slope: shape (rows, rows), the function's derivative by the covariance.
        """
        by_joint = (rows.T @ (slope * parts.joint_slope) @ rows) * self._squares
        by_additive = (rows.T @ slope @ rows) * self._share * _matern_slope(self._alone)
        return self._levels.sums(by_joint + by_additive * self._alone**2)


def trend_kernel(inputs: Inputs, others: Inputs) -> Floats:
    """The part of the covariance that is not fitted: the mean, and what lies along a trend.

    Trends are over the predictions and over the distance from the middle.
    """
    result: Floats = _lines(inputs) @ _lines(others).T
    if inputs.expected is not None and others.expected is not None:
        result += _curve_kernel(inputs.expected, others.expected)
    return result


def _lines(inputs: Inputs) -> Floats:
    """Shape (inputs, lines): the mean, and what has a slope, each times its deviation."""
    lines = [np.full(len(inputs), _OFFSET_DEVIATION)]
    if inputs.off_middle is not None:
        lines.append(_BOWL_DEVIATION * inputs.off_middle)
    if inputs.expected is not None:
        lines.append(_SLOPE_DEVIATION * inputs.expected)
    return np.stack(lines, axis=1)


def _curve_kernel(expected: Floats, others: Floats) -> Floats:
    """The part that bends with the predictions of a transfer model."""
    distance = np.abs(expected[:, None] - others) / _CURVE_LENGTH
    result: Floats = _CURVE_DEVIATION**2 * _matern(distance)
    return result


def _trend_variance(inputs: Inputs) -> Floats:
    """The diagonal of the same for one set of inputs."""
    curve = 0.0 if inputs.expected is None else _CURVE_DEVIATION**2
    result: Floats = (_lines(inputs) ** 2).sum(axis=1) + curve
    return result


def _matern(distance: Floats) -> Floats:
    """The Matern-5/2 correlation, equation 4.17 of Rasmussen and Williams."""
    scaled = _SQRT5 * distance
    result: Floats = (1 + scaled + scaled**2 / 3) * np.exp(-scaled)
    return result


def _matern_slope(distance: Floats) -> Floats:
    """Minus twice the derivative of the correlation by the squared distance."""
    scaled = _SQRT5 * distance
    result: Floats = 5 / 3 * (1 + scaled) * np.exp(-scaled)
    return result
