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
# Of a kernel of a package on a busy machine, with what its first trial has to wait for; and for
# each byte of its tensors, since the deployed configuration runs a dozen times, and twice as often
# for the outputs that its trials are checked by.
_USUAL_EXAMINATION_S = 10.0
_USUAL_S_PER_BYTE = 1e-7
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
        self._took: list[float] = []  # of one task, in usual times, on average over those at once
        self._cut_off: set[int] = set()  # by the end of its part of the time, so left for this run

    def first(self, standings: Sequence[TaskStanding]) -> list[int]:
        """Examine a task if a limited time has nothing else to begin with.

        Args:
            standings: of all tasks.

        Returns:
            The task's position, if it was examined.
        """
        if self._budget.time_s is None or not all(one.waits for one in standings):
            return []
        end_s = self._budget.end_s()
        return self._alone(standings, self._worth(standings, end_s), end_s)

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
        worth = self._worth(standings, end_s)
        if not any(not one.is_done and one.size > 1 for one in standings):
            return self._alone(standings, worth, end_s)
        half_s = part_way_s(end_s, EXAMINED_PART)
        return self._examined(standings, worth[:_AT_ONCE], half_s) if worth else []

    def _worth(self, standings: Sequence[TaskStanding], end_s: float) -> list[int]:
        """The tasks that it is worth examining, but for those that took too long already."""
        worth = worth_examining(
            states_of(standings),
            [self._takes_s(standing) for standing in standings],
            has_begun=any(standing.tried for standing in standings),
            left_s=EXAMINED_PART * (end_s - time.monotonic()),
        )
        return [number for number in worth if number not in self._cut_off]

    def _takes_s(self, standing: TaskStanding) -> float:
        """What an examination takes, by those of this run."""
        return statistics.fmean(self._took or [1.0]) * _usual_s(standing)

    def _alone(
        self, standings: Sequence[TaskStanding], worth: Sequence[int], end_s: float
    ) -> list[int]:
        """Find out about the first of tasks where nothing else is to do; return it if it was.

        It gets half of the time, if there are others that take less than half of what it takes.
        What part of the time has not shown to vary stays, so that there are trials.
        """
        takes_s = [self._takes_s(standings[number]) for number in worth]
        has_easier = any(2 * other_s < takes_s[0] for other_s in takes_s[1:])
        ends_s = part_way_s(end_s, EXAMINED_PART) if has_easier else end_s
        tries_end_s = part_way_s(ends_s, EXAMINED_PART)
        return self._examined(standings, worth[:1], ends_s, tries_end_s) if worth else []

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
        examined = set(self._examiner.examine(keys, end_s, tries_end_s))
        found = [number for number in numbers if standings[number].task.key in examined]
        if found:
            usual_s = sum(_usual_s(standings[number]) for number in found)
            self._took.append((time.monotonic() - began_s) / usual_s)
        else:
            self._cut_off |= set(numbers)  # what it began would be begun anew
        return found


def _usual_s(standing: TaskStanding) -> float:
    """What an examination takes on a busy machine."""
    return _USUAL_EXAMINATION_S + _USUAL_S_PER_BYTE * standing.task.size_bytes
