"""The values that a Gaussian process compares, and what is known of them before any trial."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Levels"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Levels:
    """The values of all parameters and alignments, in turn, and the distances within each.

    Args:
        squares: shape (levels, levels), squared differences of values of the same parameter; 0 for
            values of different ones.
        owners: shape (levels,), the number of the parameter that a level is a value of.
        scale_priors: shape (parameters, 2), the mean and standard deviation of the logarithm of
            each length scale before any trial, for distances in units of the square root of the
            number of parameters.
    """

    squares: Floats
    owners: npt.NDArray[np.int64]
    scale_priors: Floats

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
