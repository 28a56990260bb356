"""How many rounds a comparison of leaders may take; requests say it without what compares."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ALL_ROUNDS", "CONFIDENCE", "MOST_ROUNDS", "NO_ROUNDS", "Rounds"]

CONFIDENCE = 0.95
MOST_ROUNDS = 12


@dataclass(frozen=True)
class Rounds:
    """How much a comparison may take.

    Args:
        most: rounds; with 0 there is no comparison.
        time_s: seconds for all rounds together; None for no limit.
    """

    most: int = MOST_ROUNDS
    time_s: float | None = None

    def allow_one_more(self, done: int, spent_s: float) -> bool:
        """Whether the rounds that a verdict still needs end in time; one if it has enough."""
        if done >= self.most:
            return False
        if self.time_s is None or not done:
            return self.time_s is None or self.time_s > 0
        from engine.repeats.signed_rank import (
            fewest_values,  # SciPy, late: requests import this file
        )

        needed = max(1, fewest_values(CONFIDENCE) - done)
        return spent_s * (1 + needed / done) <= self.time_s


ALL_ROUNDS = Rounds()
NO_ROUNDS = Rounds(most=0)
