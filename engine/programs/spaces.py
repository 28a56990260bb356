"""What tuning would try for the tasks of a capture."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from engine.programs.captured_program import examine_new
from engine.programs.rewriting import rewriting
from engine.programs.standing import ProgramTask
from engine.programs.task_table import ParameterNote, TaskSpace
from engine.workers.devices import board_info
from foundation.errors import UserError
from foundation.gpu_limits import GpuLimits
from foundation.printing import say
from kernels.captured.examined import read_examined
from kernels.captured.freedom import Freedom
from kernels.captured.freedom_text import FreedomText, freedom_texts
from kernels.captured.recorded import load_task
from kernels.captured.space import captured_space
from kernels.captured.task import Task
from rvv_runner.board import BoardError
from search_spaces.enumeration import take_census
from triton_rvv.launches.generated import GRID_OF_NUMBERS

__all__ = ["spaces_in"]

_GPU_BACKENDS = ("cuda", "hip")
# Of the program's time, as much as a table of tasks is to cover.
_EXAMINED_SHARE = 0.95


def spaces_in(capture: Path) -> Callable[[Task], TaskSpace | None]:
    """What tuning would try for each task.

    That is on this machine's GPU, if there is one and the task was captured on a GPU, and else on a
    processor. Tasks that were not examined yet are, which takes seconds for each, but for the
    shortest: a program has many that take next to none of its time. Those are None.

    Raises:
        UserError: if what was found cannot be kept.
    """
    left = examine_new(capture, _say_examined, of_share=_EXAMINED_SHARE)
    examined = read_examined(capture)
    limits_of = functools.cache(_limits_of)

    def space_of(task: Task) -> TaskSpace | None:
        if task.key in left:
            return None
        found = examined.get(task.key)
        why = _refusal(capture, task) if found is None else found.refusal
        if found is None or found.probed is None:
            return TaskSpace(0, (ParameterNote("", "is not tuned", why),))
        gpu = limits_of(_backend(task))
        if found.probed.unseen and gpu is None:
            # What fails on the processor that the program ran on has nothing to do with GPUs.
            verb = "is tuned on a GPU only" if _backend(task) in _GPU_BACKENDS else "is not tuned"
            return TaskSpace(0, (ParameterNote("", verb, found.probed.unseen),))
        options, listed = task.options, task.listed
        space = captured_space(found.probed, options, listed, gpu, is_wide=found.is_wide)
        count, freedoms = take_census(space).valid, found.probed.freedoms
        advice = rewriting(task, freedoms) if count == 1 and not found.probed.unseen else ""
        notes = [*map(_note, freedom_texts(freedoms)), *_notes_on_run(task, freedoms)]
        return TaskSpace(count, tuple(notes), advice)

    return space_of


def _backend(task: Task) -> str:
    return task.target.partition(":")[0]


def _limits_of(backend: str) -> GpuLimits | None:
    """What this machine's GPU has; None for processors, and where none can be used."""
    if backend not in _GPU_BACKENDS:
        return None
    try:
        return board_info(backend).gpu
    except (BoardError, UserError):
        return None


def _refusal(capture: Path, task: Task) -> str:
    """Why a task was not examined."""
    try:
        load_task(capture, task.key)
    except UserError as error:
        return str(error)
    raise AssertionError(f"task {task.key} was not examined")


def _say_examined(task: ProgramTask) -> None:
    say(f"stage=examining {task.label}", file=sys.stderr)


def _notes_on_run(task: Task, freedoms: Sequence[Freedom]) -> Iterator[ParameterNote]:
    """What varies, but stays where the program is run with winners."""
    if task.grid_values is None:
        return
    names = [
        one.name
        for one in freedoms
        if one.varies
        and not one.is_hint
        and not set(one.values) <= {values.get(one.name) for values in task.grid_values}
    ]
    if names:
        why = GRID_OF_NUMBERS.format("the winner's")
        yield ParameterNote(", ".join(names), "stays in runs with winners", why)


def _note(text: FreedomText) -> ParameterNote:
    return ParameterNote(text.subject, text.verb, text.why)
