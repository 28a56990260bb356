"""The numbers of trials at which models are fitted again."""

from __future__ import annotations

__all__ = ["milestone"]

# Models are fitted again each time the trials have grown by one part in so many.
_PARTS = 8


def milestone(trials: int) -> int:
    """The largest milestone that is at most this number of trials.

    Each milestone is an eighth above the one before, and at least one trial.
    """
    reached = 0
    while (following := reached + max(1, reached // _PARTS)) <= trials:
        reached = following
    return reached
