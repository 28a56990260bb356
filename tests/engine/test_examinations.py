"""How a budget's time is shared out to examinations."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path

from engine.programs.budget import ProgramBudget
from engine.programs.examining import Examinations
from engine.programs.standing import ProgramTask, TaskStanding
from kernels.captured.examination import Examiner


class EndlessExaminer(Examiner):
    """Notes what it is asked for, and ends none of it."""

    def __init__(self) -> None:
        super().__init__(Path("unread.capture"))
        self.asked: list[tuple[str, float]] = []

    def examine(
        self, keys: Sequence[str], end_s: float = math.inf, tries_end_s: float = math.inf
    ) -> list[str]:
        self.asked += [(key, end_s - time.monotonic()) for key in keys]
        return []


def waiting(key: str, launches: int, size_bytes: int = 0) -> TaskStanding:
    task = ProgramTask(key, key, key, key, launches, captured_s=1e-3, size_bytes=size_bytes)
    return TaskStanding(task, waits=True)


def test_large_tensors_leave_half_of_the_time_to_what_is_examined_sooner() -> None:
    examiner = EndlessExaminer()
    examinations = Examinations(examiner, ProgramBudget(None, 100.0, time.monotonic()))
    standings = [waiting("huge", 50, 800 << 20), waiting("large", 40, 200 << 20), waiting("a", 1)]
    assert examinations.first(standings) == []
    ((key, left_s),) = examiner.asked
    assert key == "large"  # the huge one would not end in half of the time
    assert 45 < left_s < 55
    for _ in range(3):
        examinations.more(standings, 1.0)
    assert [key for key, _ in examiner.asked] == ["large", "a", "huge"]


def test_of_tasks_alike_the_heaviest_may_take_all_of_the_time() -> None:
    examiner = EndlessExaminer()
    examinations = Examinations(examiner, ProgramBudget(None, 100.0, time.monotonic()))
    examinations.first([waiting("light", 1), waiting("heavy", 9)])
    ((key, left_s),) = examiner.asked
    assert key == "heavy"
    assert left_s > 90
