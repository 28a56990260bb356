"""What tuning would try for a task."""

from __future__ import annotations

from engine.programs.task_table import TaskSpace
from kernels.captured.task import Task

__all__ = ["space_of"]


def space_of(task: Task) -> TaskSpace | None:
    """What tuning would try; None where that is not known."""
    if task.configurations is None:
        return None
    return TaskSpace(len(set(task.configurations)), ())
