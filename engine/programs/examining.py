"""When it is found out what varies in a program's tasks, within the budget for their trials."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence

from engine.programs.budget import ProgramBudget, part_way_s
from engine.programs.scheduler import worth_examining
from engine.programs.standing import TaskStanding, states_of
from foundation.processors import cores
from kernels.captured.examination import Examiner

__all__ = ["EXAMINED_PART", "Examinations"]

# Of what is left of a budget, for examinations while other tasks can be tuned, and for trying other
# values of a task's constexprs where there is none. What is found out is kept, so the same command
# finds out about the rest.
EXAMINED_PART = 0.5
_USUAL_EXAMINATION_S = 10.0  # of a kernel of a package, before one was timed
_AT_ONCE = 2 * cores()  # examinations between slices of trials


class Examinations:
    """Examines tasks when it is their turn.

    Args:
        examiner: of the tasks of which it is not known yet what varies.
        budget: of the program.
    """

    def __init__(self, examiner: Examiner, budget: ProgramBudget) -> None:
        self._examiner = examiner
        self._budget = budget
        self._took_s: list[float] = []  # of one task, on average over those at once
        self._is_cut_off = False  # one, by the end of its part of the time

    def first(self, standings: Sequence[TaskStanding]) -> list[int]:
        """Examine the heaviest task if a limited time has nothing else to begin with.

        Args:
            standings: of all tasks.

        Returns:
            The task's position, if it was examined.
        """
        if self._budget.time_s is None or not all(one.waits for one in standings):
            return []
        worth = worth_examining(states_of(standings), _USUAL_EXAMINATION_S, has_begun=False)
        return self._alone(standings, worth[:1], self._budget.end_s())

    def more(self, standings: Sequence[TaskStanding], part: float) -> list[int]:
        """Examine tasks if it is their turn.

        In a limited time, it is the turn of those from which more is to be expected than from those
        that can be tried. They get half of the time that is left, and more where nothing else is
        left to do.

        Args:
            standings: of all tasks.
            part: of the time of the budget, for examinations and trials.

        Returns:
            The positions of those that were examined.
        """
        waiting = [number for number, standing in enumerate(standings) if standing.waits]
        if not waiting:
            self._examiner.close()
            return []
        if self._budget.time_s is None:
            return self._examined(standings, waiting)
        end_s = self._budget.end_s(part)
        usual_s = statistics.fmean(self._took_s or [_USUAL_EXAMINATION_S])
        has_begun = any(standing.tried for standing in standings)
        worth = worth_examining(states_of(standings), usual_s, has_begun=has_begun)
        if not any(not one.is_done and one.size > 1 for one in standings):
            return self._alone(standings, worth[:1], end_s)
        if not worth or self._is_cut_off:
            return []
        half_s = part_way_s(end_s, EXAMINED_PART)
        examined = self._examined(standings, worth[:_AT_ONCE], half_s)
        if not examined:
            self._is_cut_off = True  # what it began would be begun anew
            self._examiner.close()
        return examined

    def _alone(
        self, standings: Sequence[TaskStanding], numbers: Sequence[int], end_s: float
    ) -> list[int]:
        """Find out about tasks where nothing else is to do, and return those that were examined.

        What part of the time left has not shown to vary stays, so that there are trials.
        """
        return self._examined(standings, numbers, end_s, part_way_s(end_s, EXAMINED_PART))

    def _examined(
        self,
        standings: Sequence[TaskStanding],
        numbers: Sequence[int],
        end_s: float = math.inf,
        tries_end_s: float = math.inf,
    ) -> list[int]:
        """Find out about tasks, and return those that were examined."""
        began_s = time.monotonic()
        keys = [standings[number].task.key for number in numbers]
        examined = self._examiner.examine(keys, end_s, tries_end_s)
        if examined:
            self._took_s.append((time.monotonic() - began_s) / len(examined))
        return [n for n in numbers if standings[n].task.key in examined]
