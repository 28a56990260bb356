"""When tuning a program stops."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

__all__ = ["ProgramBudget", "part_way_s"]


@dataclass(frozen=True)
class ProgramBudget:
    """When to stop; at the first that is reached.

    Args:
        trials: of all tasks together, earlier runs included; None for no limit.
        time_s: seconds after which nothing is begun: no examination, no trial and no round of a
            comparison; builds that are under way then are ended, a command's first some
            seconds later. None for no limit.
        start_s: when the command began, as `time.monotonic` gives it.
    """

    trials: int | None
    time_s: float | None
    start_s: float

    def end_s(self, part: float = 1.0) -> float:
        """When a part of the time is over, as `time.monotonic` gives it."""
        return math.inf if self.time_s is None else self.start_s + part * self.time_s

    def left_s(self, part: float = 1.0) -> float | None:
        """What is left of a part of the time, in seconds; None for no limit."""
        end_s = self.end_s(part)
        return None if math.isinf(end_s) else max(0.0, end_s - time.monotonic())


def part_way_s(end_s: float, part: float) -> float:
    """When a part of the time from now to `end_s` is over; both as `time.monotonic` gives it."""
    now_s = time.monotonic()
    return now_s + part * (end_s - now_s)
