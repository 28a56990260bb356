"""The fit of a Gaussian process's hyperparameters to trials."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs
from scipy.optimize import minimize

from engine.search.model.gaussian_process import (
    JITTER,
    Hyperparameters,
    Inputs,
    Kernel,
    trend_kernel,
)
from engine.search.model.levels import Levels

__all__ = ["MAX_FITTED_ROWS", "Posterior", "fit"]

Floats = npt.NDArray[np.float64]

# The most rows that hyperparameters are fitted to, which bounds the cost in long studies.
MAX_FITTED_ROWS = 150

# Log-normal priors of the hyperparameters, as (mean, standard deviation) of the logarithm; those of
# length scales are in `Levels`. They grow with the square root of the number of parameters, as the
# distances do (Hvarfner, Hellsten and Nardi, "Vanilla Bayesian optimization performs great in high
# dimensions", ICML 2024). Targets are standardised, so variances are about 1, and mostly of
# parameters that act together; benchmarks/search/bench_length_scales.py prints what fits find. The
# noise models how rugged the times are, about a hundredth of the variance.
_JOINT_VARIANCE_PRIOR = (0.3, 0.7)
_ADDITIVE_VARIANCE_PRIOR = (-0.6, 0.9)
_NOISE_PRIOR = (float(np.log(1e-2)), 1.5)

# Bounds of the logarithms, beyond which no data can distinguish values.
_LENGTH_SCALE_BOUNDS = (-4.0, 5.0)
_VARIANCE_BOUNDS = (-6.0, 4.0)
_NOISE_BOUNDS = (-10.0, 2.0)

# Steps of the fit. More, or a second start, cost twice as much and score no better.
_MAX_STEPS = 20


def fit(levels: Levels, inputs: Inputs, targets: Floats) -> Hyperparameters:
    """The most probable hyperparameters: likelihood times prior, from the prior's mean.

    Args:
        levels, inputs, targets: as of `GaussianProcess`.
    """
    posterior = Posterior(levels, inputs, targets)
    other_bounds = [_VARIANCE_BOUNDS, _VARIANCE_BOUNDS, _NOISE_BOUNDS]
    found = minimize(
        posterior,
        posterior.prior_mean,
        jac=True,
        method="L-BFGS-B",
        bounds=[_LENGTH_SCALE_BOUNDS] * levels.parameters + other_bounds,
        options={"maxiter": _MAX_STEPS},
    )
    return Hyperparameters.from_logarithms(found.x)


class Posterior:
    """Minus the logarithm of the probability of hyperparameters, with its gradient.

    Called with a vector of logarithms, in the order of the fields of `Hyperparameters`.

    Args:
        levels, inputs, targets: as of `GaussianProcess`.

    Attributes:
        prior_mean: shape (hyperparameters,), the most probable vector before any trial.
    """

    def __init__(self, levels: Levels, inputs: Inputs, targets: Floats) -> None:
        self._levels = levels
        self._rows = inputs.rows
        self._diagonal = np.diag_indices(len(inputs))
        self._trend_kernel = trend_kernel(inputs, inputs)
        self._targets = targets
        dimensions = np.log(max(levels.parameters, 1)) / 2
        scales = levels.scale_priors + np.array([dimensions, 0.0])
        others = [_JOINT_VARIANCE_PRIOR, _ADDITIVE_VARIANCE_PRIOR, _NOISE_PRIOR]
        priors = np.concatenate([scales, others])
        self.prior_mean, self._prior_deviation = priors.T

    def __call__(self, logarithms: Floats) -> tuple[float, Floats]:
        kernel = Kernel(self._levels, Hyperparameters.from_logarithms(logarithms))
        parts = kernel(self._rows, self._rows)
        noise_variance = np.exp(logarithms[-1])
        covariance = parts.total
        covariance += self._trend_kernel
        covariance[self._diagonal] += noise_variance + JITTER
        factor, failed = dpotrf(covariance, lower=1)
        if failed:
            return np.inf, np.zeros_like(logarithms)
        weights, _ = dpotrs(factor, self._targets, lower=1)
        value = self._targets @ weights / 2 + np.log(np.diag(factor)).sum()
        # The derivative by the covariance, equation 5.9 of Rasmussen and Williams.
        lower = np.tril(dpotri(factor, lower=1)[0])
        lower[self._diagonal] /= 2
        slope = lower + lower.T
        slope -= np.outer(weights, weights)
        slope /= 2
        gradient = np.concatenate(
            [
                kernel.length_scale_gradient(self._rows, parts, slope),
                [
                    np.vdot(slope, parts.joint),
                    np.vdot(slope, parts.additive),
                    noise_variance * np.trace(slope),
                ],
            ]
        )
        from_prior = (logarithms - self.prior_mean) / self._prior_deviation
        return (
            float(value + from_prior @ from_prior / 2),
            gradient + from_prior / self._prior_deviation,
        )
