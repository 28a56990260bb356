"""What is said of a winner whose outputs pass the check, and are far less exact than need be."""

from __future__ import annotations

from engine.run.summary import Summary
from engine.study.stored_trial import StoredTrial

__all__ = ["note_on_exactness"]

# Sums in another order lose a bit or two: tests/honest/honest_kernels.py prints how much.
_FAR_LESS_EXACT = 16.0


def note_on_exactness(summary: Summary) -> tuple[str, ...]:
    """A note if the winner's error, which the check accepts, is many times the default's.

    What counts is the share of its tolerance that an element is off by, since small elements and
    those that sum little say most; GPUs and callables tell the largest error alone. A default that
    makes no error at all is no measure: rounding once more would be too much.
    """
    winner, default = summary.winner, summary.default
    if winner is None or default is None:
        return ()
    share, usual_share = (_number(trial, "max_share") for trial in (winner, default))
    if share is not None and usual_share is not None:
        error, usual = share, usual_share
        told = f"an element of its outputs is off by {share:.2g} of its tolerance"
    else:
        error, usual = (_number(trial, "max_abs_error") or 0.0 for trial in (winner, default))
        told = f"the largest error of its outputs is {error:.2g}"
    if not usual or error < _FAR_LESS_EXACT * usual:
        return ()
    return (
        f"{winner.config} is less exact: {told}, {error / usual:.0f} times as much as of the "
        f"default configuration ({usual:.2g})",
    )


def _number(trial: StoredTrial, name: str) -> float | None:
    number = trial.attributes.get(name)
    return number if isinstance(number, float) else None
