"""What is said of a winner whose outputs pass the check, and are far less exact than need be."""

from __future__ import annotations

from engine.run.summary import Summary
from engine.study.stored_trial import StoredTrial

__all__ = ["note_on_exactness"]

# Sums in another order lose a bit or two: tests/honest/honest_kernels.py prints how much.
_FAR_LESS_EXACT = 16.0
_MEASURES = {
    "max_share": "an element of its outputs is off by {:.2g} of its tolerance",
    "max_abs_error": "the largest error of its outputs is {:.2g}",
}


def note_on_exactness(summary: Summary) -> tuple[str, ...]:
    """A note if the winner's error, which the check accepts, is many times the default's.

    Small elements, and those that sum little, show in the share of its tolerance that an element is
    off by. A default that makes no error at all is no measure: rounding once more would be too
    much.
    """
    winner, default = summary.winner, summary.default
    if winner is None or default is None:
        return ()
    for name, told in _MEASURES.items():
        error, usual = (_number(trial, name) for trial in (winner, default))
        if usual and error >= _FAR_LESS_EXACT * usual:
            return (
                f"{winner.config} is less exact: {told.format(error)}, {error / usual:.0f} times "
                f"as much as of the default configuration ({usual:.2g})",
            )
    return ()


def _number(trial: StoredTrial, name: str) -> float:
    number = trial.attributes.get(name)
    return number if isinstance(number, float) else 0.0
