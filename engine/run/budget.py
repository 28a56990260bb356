"""When a run of a study stops."""

from __future__ import annotations

from dataclasses import dataclass

from engine.repeats.rounds import ALL_ROUNDS, Rounds
from engine.run.events import EndReason

__all__ = ["Budget"]


@dataclass(frozen=True)
class Budget:
    """When to stop.

    Args:
        trials: distinct configurations to try in the study, earlier runs included.
        timeout_s: start no new trials after this many seconds; None for no limit.
        ends_builds: whether builds end then, too, and not only what has not begun.
        until_converged: start no new trials once the surrogate predicts no further improvement.
        rounds: in which the leaders are measured in turns at the end, if times vary.
    """

    trials: int
    timeout_s: float | None = None
    until_converged: bool = False
    rounds: Rounds = ALL_ROUNDS
    ends_builds: bool = False

    def end_of(self, space_size: int) -> EndReason:
        """Why the run ends at the number of trials; `space_size` counts valid configurations."""
        return "exhausted" if space_size <= self.trials else "trials"
