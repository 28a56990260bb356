"""When a run of a study stops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.repeats.rounds import ALL_ROUNDS, Rounds
from engine.run.events import EndReason

__all__ = ["Budget", "EndingBuilds"]

_MORE_FOR_FIRST_S = 10.0

EndingBuilds = Literal["none", "all but the first", "all"]


@dataclass(frozen=True)
class Budget:
    """When to stop.

    Args:
        trials: distinct configurations to try in the study, earlier runs included.
        timeout_s: start no new trials after this many seconds; None for no limit.
        begun_s: when they begin, as `time.monotonic` gives it; None for when the run does, whose
            study and boards are open by then.
        ending_builds: which builds of this run end then, too, and are not measured; others do not
            begin. Where the first is spared, it gets 10 s more, so that a short run that is nearly
            there has a result.
        until_converged: start no new trials once the surrogate predicts no further improvement.
        rounds: in which the leaders are measured in turns at the end, if times vary.
    """

    trials: int
    timeout_s: float | None = None
    begun_s: float | None = None
    until_converged: bool = False
    rounds: Rounds = ALL_ROUNDS
    ending_builds: EndingBuilds = "none"

    @property
    def spares_first(self) -> bool:
        """Whether the first build of a run gets more time."""
        return self.ending_builds == "all but the first"

    def build_end_s(self, start_s: float, *, is_first: bool = False) -> float | None:
        """When builds of a run end; None if they come to their end.

        Args:
            start_s: of the time, as `time.monotonic` gives it.
            is_first: whether it is the first build of the run.
        """
        if self.timeout_s is None or self.ending_builds == "none":
            return None
        more_s = _MORE_FOR_FIRST_S if is_first and self.spares_first else 0.0
        return start_s + self.timeout_s + more_s

    def end_of(self, space_size: int) -> EndReason:
        """Why the run ends at the number of trials; `space_size` counts valid configurations."""
        return "exhausted" if space_size <= self.trials else "trials"
