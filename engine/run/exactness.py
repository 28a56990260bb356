"""What is said of a winner whose outputs pass the check, and are far less exact than need be."""

from __future__ import annotations

from engine.run.summary import Summary
from engine.study.stored_trial import StoredTrial

__all__ = ["note_on_exactness"]

# Sums in another order lose a bit or two: tests/honest/honest_kernels.py prints how much.
_FAR_LESS_EXACT = 16.0


def note_on_exactness(summary: Summary) -> tuple[str, ...]:
    """A note if the winner's error, which the check accepts, is many times the default's.

    A default that makes no error at all is no measure: rounding once more would be too much.
    """
    winner, default = summary.winner, summary.default
    if winner is None or default is None:
        return ()
    error, usual = _error(winner), _error(default)
    if error is None or not usual or error < _FAR_LESS_EXACT * usual:
        return ()
    return (
        f"{winner.config} is less exact: the largest error of its outputs is {error:.2g}, "
        f"{error / usual:.0f} times that of the default configuration ({usual:.2g}), and within "
        "the tolerance",
    )


def _error(trial: StoredTrial) -> float | None:
    error = trial.attributes.get("max_abs_error")
    return error if isinstance(error, float) else None
