"""The tasks of a capture as rows, by their share of the program's time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.programs.labels import differences, short_key
from engine.programs.program_share import is_launch_bound
from engine.results.units import spaced_config, speedup_text, time_text
from foundation.config import Config
from kernels.captured.task import Task
from kernels.captured.task_file import Capture
from kernels.captured.task_values import Scalar

__all__ = [
    "HEADS",
    "ParameterNote",
    "TaskRow",
    "TaskSpace",
    "cells",
    "coverage_text",
    "mark_texts",
    "note_texts",
    "task_rows",
]

# Launches whose mean is a time to go by: a kernel's first finds its memory and code in no cache.
_ENOUGH_LAUNCHES = 5

HEADS = (
    "task",
    "kernel",
    "sizes",
    "types",
    "launches",
    "time",
    "share",
    "deployed",
    "to try",
    "gain",
)


@dataclass(frozen=True)
class ParameterNote:
    """Whether parameters vary.

    Args:
        names: of those that vary or stay for one reason; "" for the task as a whole.
        verb: what they do: "varies" or "stay"; "is not tuned" of the task.
        why: the values that are tried, or the reason why none is.
    """

    names: str
    verb: str
    why: str

    def __str__(self) -> str:
        return f"{self.names} {self.verb}: {self.why}".lstrip()


@dataclass(frozen=True)
class TaskSpace:
    """What tuning would try for a task.

    Args:
        configurations: how many.
        parameters: one note for the parameters that vary, or stay, for one reason.
        advice: what to rewrite where nothing varies; "" where something does.
    """

    configurations: int
    parameters: tuple[ParameterNote, ...]
    advice: str = ""


@dataclass(frozen=True)
class TaskRow:
    """A task as the table has it.

    Args:
        task: the task.
        sizes: what it was launched with, unlike that of any other row of the kernel.
        share: of the time of all tasks, from 0 to 1; None if it was not timed.
        space: what tuning would try; None where that is not known.
        gain: deployed time over the winner's; None if it was not tuned.
    """

    task: Task
    sizes: str
    share: float | None
    space: TaskSpace | None
    gain: float | None


def task_rows(
    captured: Capture, space_of: Callable[[Task], TaskSpace | None]
) -> tuple[TaskRow, ...]:
    """The rows, the largest share first.

    Args:
        captured: what the capture's file holds.
        space_of: what tuning would try for a task.
    """
    rows = []
    more = differences(captured.tasks, _visible)
    for task in captured.tasks:
        winner = captured.winners.get(task.key)
        gain = None if winner is None else winner.deployed_time_s / winner.time_s
        sizes = f"{_sizes(task)} {more[task.key]}".rstrip()
        rows.append(TaskRow(task, sizes, captured.share(task), space_of(task), gain))
    return tuple(rows)


def note_texts(rows: Sequence[TaskRow]) -> list[tuple[str, str]]:
    """Each note once, behind the keys of the tasks that it is about: ("e4da9e8b, a35ab705", …)."""
    keys: dict[str, list[str]] = {}
    for row in rows:
        if row.space is None:
            continue
        notes = list(map(str, row.space.parameters))
        notes += [f"to have something to try, {row.space.advice}"] if row.space.advice else []
        for note in notes:
            keys.setdefault(note, []).append(short_key(row.task))
    return [(", ".join(about), note) for note, about in keys.items()]


def coverage_text(rows: Sequence[TaskRow]) -> str:
    """How much of the program's time tuning can reach, in one sentence; "" if none was timed."""
    can, stays, cannot = "can be tuned", "has nothing that varies", "cannot be tuned"
    later = "is examined when it is tuned"
    shares = dict.fromkeys((can, stays, cannot, later), 0.0)
    for row in rows:
        if row.space is None:
            kind = later
        elif not all(note.names for note in row.space.parameters):
            kind = cannot
        else:
            kind = can if row.space.configurations > 1 else stays
        shares[kind] += row.share or 0.0
    if not sum(shares.values()):
        return ""
    parts = [f"{share:.1%} {kind}" for kind, share in shares.items() if share]
    return f"Of these kernels' time, {', '.join(parts)}."


def cells(row: TaskRow) -> Sequence[str]:
    """The texts of a row, under `HEADS`."""
    task = row.task
    return (
        short_key(task),
        task.kernel.name,
        row.sizes,
        _types(task),
        str(task.launches),
        _time(task),
        "-" if row.share is None else f"{row.share:.1%}",
        _deployed(task),
        "-" if row.space is None else str(row.space.configurations),
        speedup_text(row.gain),
    )


def mark_texts(rows: Sequence[TaskRow]) -> list[str]:
    """What the marks in the column of times say, those that are there."""
    texts = {
        "<": "launches this short may keep the GPU waiting, so the time includes a part of "
        "launching them; tuning measures the kernel alone",
        "~": f"fewer than {_ENOUGH_LAUNCHES} launches were timed, so time and share may be far "
        "off; let the program repeat its work to know better",
    }
    marks = {mark for row in rows for mark in _marks(row.task)}
    return [f"{mark}: {text}" for mark, text in texts.items() if mark in marks]


def _time(task: Task) -> str:
    return "-" if task.time_s is None else " ".join([*_marks(task), time_text(task.time_s)])


def _marks(task: Task) -> list[str]:
    """What is to be known of a task's time."""
    if task.time_s is None:
        return []
    return ["<"] * is_launch_bound(task) + ["~"] * (task.timed_launches < _ENOUGH_LAUNCHES)


def _visible(task: Task) -> str:
    """What the table shows of a task without adding to it."""
    return " ".join([task.kernel.name, _sizes(task), _types(task), _deployed(task)])


def _types(task: Task) -> str:
    return " ".join(dict.fromkeys(tensor.dtype for tensor in task.tensors.values())) or "-"


def _deployed(task: Task) -> str:
    return spaced_config(Config(task.deployed))


def _sizes(task: Task) -> str:
    """The shapes of the tensors, each once, and the integers of a kernel without tensors."""
    shapes = ["x".join(map(str, tensor.shape)) for tensor in task.tensors.values() if tensor.shape]
    if shapes:
        return " ".join(dict.fromkeys(shapes))
    scalars = {n: v.value for n, v in task.arguments.items() if isinstance(v, Scalar)}
    return " ".join(f"{name}={value}" for name, value in scalars.items()) or "-"
