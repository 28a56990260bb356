"""A Gaussian process over the values of parameters, and the fit of its hyperparameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize

__all__ = [
    "MAX_FITTED_ROWS",
    "MAX_ROWS",
    "GaussianProcess",
    "Hyperparameters",
    "Inputs",
    "Levels",
    "fit",
]

Floats = npt.NDArray[np.float64]

# The most rows in a process, and the most that its hyperparameters are fitted to. Studies of usual
# length have fewer; in longer ones these bound the cost of a proposal.
MAX_ROWS = 250
MAX_FITTED_ROWS = 150

_SQRT5 = np.sqrt(5.0)

# Added to the noise, so that the covariance of close rows can be factorised.
_JITTER = 1e-6

# Log-normal priors of the hyperparameters, as (mean, standard deviation) of the logarithm. Length
# scales grow with the square root of the number of parameters, as the distances do (Hvarfner,
# Hellsten and Nardi, "Vanilla Bayesian optimization performs great in high dimensions", ICML 2024).
# Targets are standardised, so variances are about 1; the noise models how rugged the times are,
# about a hundredth of the variance.
_LENGTH_SCALE_PRIOR = (0.3, 1.0)
_VARIANCE_PRIOR = (0.0, 1.0)
_NOISE_PRIOR = (float(np.log(1e-2)), 1.5)

# Bounds of the logarithms, beyond which no data can distinguish values.
_LENGTH_SCALE_BOUNDS = (-4.0, 5.0)
_VARIANCE_BOUNDS = (-6.0, 4.0)
_NOISE_BOUNDS = (-10.0, 2.0)

# The kernel over a transfer model's predictions: the sum of an offset, a line and a Matern-5/2
# kernel, so that the predictions can turn out right, useless or wrong. In units of standardised
# targets; chosen by hand, not fitted.
_OFFSET_DEVIATION = 1.0
_SLOPE_DEVIATION = 0.7
_CURVE_DEVIATION = 1.0
_CURVE_LENGTH = 1.0

# The second start of the fit, against the prior's means: shorter length scales and less noise.
_SHORTER = -1.0
_LESS_NOISE = -2.0

_MAX_STEPS = 40


@dataclass(frozen=True)
class Levels:
    """The values of all parameters, one after the other, and the distances within each parameter.

    Args:
        squares: shape (levels, levels), squared differences of values of the same parameter; 0 for
            values of different ones.
        owners: shape (levels,), the number of the parameter that a level is a value of.
    """

    squares: Floats
    owners: npt.NDArray[np.int64]

    @property
    def parameters(self) -> int:
        """How many parameters there are."""
        return int(self.owners.max(initial=-1)) + 1

    @property
    def same_owner(self) -> npt.NDArray[np.bool_]:
        """Shape (levels, levels), true for two values of the same parameter."""
        result: npt.NDArray[np.bool_] = self.owners[:, None] == self.owners
        return result

    def sums(self, table: Floats) -> Floats:
        """The sum of a table of shape (levels, levels) over the rows of each parameter."""
        return np.bincount(self.owners, table.sum(axis=1), minlength=self.parameters).astype(
            np.float64
        )


@dataclass(frozen=True)
class Inputs:
    """Configurations as the kernel compares them.

    Args:
        rows: shape (rows, levels), 1 for each level that a configuration has and 0 elsewhere.
        expected: shape (rows,), predictions of a transfer model in standardised targets; None
            without one.
    """

    rows: Floats
    expected: Floats | None = None

    def __len__(self) -> int:
        return len(self.rows)


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
    """An exact Gaussian process with a mean of zero.

    The kernel is a sum of two: a Matern-5/2 kernel over all parameters together, and the mean of
    such kernels over each parameter alone (Duvenaud, Nickisch and Rasmussen, "Additive Gaussian
    processes", 2011), which learns the effect of each value from few trials. With a transfer model,
    a third part relates its predictions to the targets. The other formulae are those of Rasmussen
    and Williams, "Gaussian processes for machine learning" (2006), section 2.2.

    Args:
        levels: of the space.
        inputs: of the trials.
        targets: shape (rows,), standardised.
        hyperparameters: of the kernel.
    """

    def __init__(
        self, levels: Levels, inputs: Inputs, targets: Floats, hyperparameters: Hyperparameters
    ) -> None:
        self._kernel = _Kernel(levels, hyperparameters)
        self._inputs = inputs
        covariance = self._kernel(inputs.rows, inputs.rows).total + _transfer_kernel(inputs, inputs)
        covariance[np.diag_indices(len(inputs))] += hyperparameters.noise_variance + _JITTER
        self._factor: Floats = cholesky(covariance, lower=True, check_finite=False)
        self._weights: Floats = cho_solve((self._factor, True), targets, check_finite=False)
        self._variance = hyperparameters.joint_variance + hyperparameters.additive_variance

    def predict(self, inputs: Inputs) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the function at other configurations."""
        cross = self._kernel(inputs.rows, self._inputs.rows).total
        cross += _transfer_kernel(inputs, self._inputs)
        explained = solve_triangular(self._factor, cross.T, lower=True, check_finite=False)
        variance = (
            self._variance
            + _transfer_variance(inputs)
            - np.einsum("ij,ij->j", explained, explained)
        )
        return cross @ self._weights, np.sqrt(np.maximum(variance, _JITTER**2))


def fit(levels: Levels, inputs: Inputs, targets: Floats) -> Hyperparameters:
    """The most probable hyperparameters: likelihood times prior, from two fixed starts.

    Args:
        levels, inputs, targets: as of `GaussianProcess`.
    """
    posterior = Posterior(levels, inputs, targets)
    other_bounds = [_VARIANCE_BOUNDS, _VARIANCE_BOUNDS, _NOISE_BOUNDS]
    results = [
        minimize(
            posterior,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=[_LENGTH_SCALE_BOUNDS] * levels.parameters + other_bounds,
            options={"maxiter": _MAX_STEPS},
        )
        for start in posterior.starts()
    ]
    return Hyperparameters.from_logarithms(min(results, key=lambda result: result.fun).x)


class Posterior:
    """Minus the logarithm of the probability of hyperparameters, with its gradient.

    Called with a vector of logarithms, in the order of the fields of `Hyperparameters`.

    Args:
        levels, inputs, targets: as of `GaussianProcess`.
    """

    def __init__(self, levels: Levels, inputs: Inputs, targets: Floats) -> None:
        self._levels = levels
        self._rows = inputs.rows
        self._transfer_kernel = _transfer_kernel(inputs, inputs)
        self._targets = targets
        count = levels.parameters
        scale_prior = (_LENGTH_SCALE_PRIOR[0] + np.log(max(count, 1)) / 2, _LENGTH_SCALE_PRIOR[1])
        priors = [scale_prior] * count + [_VARIANCE_PRIOR, _VARIANCE_PRIOR, _NOISE_PRIOR]
        self._prior_mean, self._prior_deviation = np.array(priors).T

    def starts(self) -> tuple[Floats, Floats]:
        """Where to begin: the prior's mean, and a more wiggly function."""
        wiggly = self._prior_mean.copy()
        wiggly[:-3] += _SHORTER
        wiggly[-1] += _LESS_NOISE
        return self._prior_mean, wiggly

    def __call__(self, logarithms: Floats) -> tuple[float, Floats]:
        kernel = _Kernel(self._levels, Hyperparameters.from_logarithms(logarithms))
        parts = kernel(self._rows, self._rows)
        noise_variance = np.exp(logarithms[-1])
        identity = np.eye(len(self._rows))
        try:
            covariance = parts.total + self._transfer_kernel + (noise_variance + _JITTER) * identity
            factor = cholesky(covariance, lower=True)
        except LinAlgError:
            return np.inf, np.zeros_like(logarithms)
        weights = cho_solve((factor, True), self._targets)
        value = self._targets @ weights / 2 + np.log(np.diag(factor)).sum()
        # The derivative by the covariance, equation 5.9 of Rasmussen and Williams.
        slope = (cho_solve((factor, True), identity) - np.outer(weights, weights)) / 2
        gradient = np.concatenate(
            [
                kernel.length_scale_gradient(self._rows, parts, slope),
                [
                    (slope * parts.joint).sum(),
                    (slope * parts.additive).sum(),
                    noise_variance * np.trace(slope),
                ],
            ]
        )
        from_prior = (logarithms - self._prior_mean) / self._prior_deviation
        return (
            float(value + from_prior @ from_prior / 2),
            gradient + from_prior / self._prior_deviation,
        )


@dataclass(frozen=True)
class _Parts:
    """A covariance between two sets of rows, and the scaled distance it comes from."""

    joint: Floats
    additive: Floats
    distance: Floats

    @property
    def total(self) -> Floats:
        return self.joint + self.additive


class _Kernel:
    """The kernel; a sum over parameters is a product of rows with a table over the levels."""

    def __init__(self, levels: Levels, hyperparameters: Hyperparameters) -> None:
        self._levels = levels
        self._hyperparameters = hyperparameters
        self._squares = levels.squares / hyperparameters.length_scales[levels.owners, None] ** 2
        # One parameter alone is as far apart as all of them together, on average.
        self._alone = np.sqrt(self._squares * levels.parameters)
        self._share = hyperparameters.additive_variance / max(levels.parameters, 1)

    def __call__(self, rows: Floats, others: Floats) -> _Parts:
        squares = rows @ (self._squares @ others.T)
        distance = np.sqrt(np.maximum(squares, 0.0))
        table = np.where(self._levels.same_owner, self._share * _matern(self._alone), 0.0)
        return _Parts(
            joint=self._hyperparameters.joint_variance * _matern(distance),
            additive=rows @ (table @ others.T),
            distance=distance,
        )

    def length_scale_gradient(self, rows: Floats, parts: _Parts, slope: Floats) -> Floats:
        """Of a function of the covariance of rows, by the logarithms of the length scales.

        Args:
            rows, parts: what the kernel was called with, twice the same rows, and gave.
            slope: shape (rows, rows), the function's derivative by the covariance.
        """
        joint = self._hyperparameters.joint_variance * _matern_slope(parts.distance)
        by_joint = (rows.T @ (slope * joint) @ rows) * self._squares
        by_additive = (rows.T @ slope @ rows) * self._share * _matern_slope(self._alone)
        return self._levels.sums(by_joint + by_additive * self._alone**2)


def _transfer_kernel(inputs: Inputs, others: Inputs) -> Floats | float:
    """The part of the covariance that comes from a transfer model's predictions."""
    if inputs.expected is None or others.expected is None:
        return 0.0
    distance = np.abs(inputs.expected[:, None] - others.expected) / _CURVE_LENGTH
    line = _SLOPE_DEVIATION**2 * np.outer(inputs.expected, others.expected)
    result: Floats = _OFFSET_DEVIATION**2 + line + _CURVE_DEVIATION**2 * _matern(distance)
    return result


def _transfer_variance(inputs: Inputs) -> Floats | float:
    """The diagonal of the same for one set of inputs."""
    if inputs.expected is None:
        return 0.0
    line = _SLOPE_DEVIATION**2 * inputs.expected**2
    result: Floats = _OFFSET_DEVIATION**2 + line + _CURVE_DEVIATION**2
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
