"""`tune FILE`: tunes the tasks of a capture, and adds the winners to its file."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from engine.programs.budget import ProgramBudget
from engine.programs.captured_program import keep_winner, program_tasks, unexamined
from engine.programs.examining import EXAMINED_PART
from engine.programs.kept_storage import kept_storage
from engine.programs.printed import print_change, print_program, program_record
from engine.programs.program_share import WholeProgram, program_share
from engine.programs.scheduler import FIRST_TRIALS
from engine.programs.standing import TaskStanding
from engine.programs.tuning import tune_program
from engine.results.json import json_text
from engine.results.progress import LineProgress
from engine.run.events import Event, Listener
from engine.run.request import TuningRequest
from engine.workers.board_events import BoardBack, BoardNote, BoardTakenOut
from engine.workers.devices import board_info
from engine.workers.workbench import prepare_links
from foundation.printing import say, wrapped
from kernels.captured.examination import Examiner
from kernels.captured.examined import read_examined
from kernels.captured.task import Task
from kernels.captured.task_file import read_capture
from rvv_runner.board import BoardInfo
from rvv_runner.devices import DEFAULT_DEVICE

__all__ = ["after_first_link", "default_device_note", "tune_capture"]

_TRIALS_PER_TASK = 20  # if the user gives no budget


def tune_capture(
    capture: Path,
    request: TuningRequest,
    budget: ProgramBudget,
    *,
    as_json: bool,
    widens: bool = False,
) -> bool:
    """Tune a capture's tasks, print the result, and return whether any task has a winner.

    Args:
        capture: the file.
        request: what the studies have in common.
        budget: of all of them; 20 trials per task if it has no limit.
        as_json: whether the result is printed as JSON.
        widens: whether more is tried than the kernels' autotuners list.

    Raises:
        UserError, BoardError: as `tune_program`, and if the file is no capture.
    """
    storage = kept_storage(capture, request.study.storage)
    if storage != request.study.storage:
        say(wrapped(f"note: its studies go on in {storage}"), file=sys.stderr)
        request = replace(request, study=replace(request.study, storage=storage))
    stream = sys.stderr if as_json or sys.stdout.isatty() else sys.stdout
    tasks = program_tasks(capture)
    if budget.trials is None and budget.time_s is None:
        budget = replace(budget, trials=_TRIALS_PER_TASK * len(tasks))
    elif budget.trials is not None and len(tasks) > 1:
        say(wrapped(_on_trials(budget.trials, len(tasks))), file=sys.stderr)
    labels = {task.key: task.label for task in tasks}
    if note := default_device_note(read_capture(capture).tasks, request.devices):
        say(wrapped(note), file=sys.stderr)

    def begun(stage: str) -> None:
        say(f"stage={stage}", file=sys.stderr)

    def changed(standings: Sequence[TaskStanding], number: int) -> None:
        keep_winner(standings[number], info)
        print_change(standings, number, stream)

    def examined(key: str) -> None:
        begun(f"examining {labels[key]}")

    with Examiner(capture, examined, widens=widens) as examiner:
        if not labels.keys() <= read_examined(capture).keys():
            examiner.prepare()
        given_s = EXAMINED_PART * (budget.time_s or math.inf)
        new = set(unexamined(capture, widens=widens, given_s=given_s))
        tasks = [
            replace(task, is_examined=task.key not in new, is_wide=widens or task.is_wide)
            for task in tasks
        ]
        info = board_info(request.devices[0], request.work.ray_address)
        budget = after_first_link(budget, lambda: prepare_links(info.backend, begun))
        begun("starting Ray" if request.work.ray_address is None else "joining the Ray cluster")
        standings = tune_program(
            tasks,
            request,
            budget,
            listener_of=lambda task: _boards_only(stream),
            begun=begun,
            changed=changed,
            examiner=examiner,
        )
    whole = _whole_program(capture, info)
    if as_json:
        say(json_text(program_record(standings, whole)))
    else:
        print_program(standings, sys.stdout, whole)
    return any(standing.best_s is not None for standing in standings)


def _whole_program(capture: Path, info: BoardInfo) -> WholeProgram | None:
    """What is known of the program around its kernels; None if its run was not timed."""
    share = program_share(read_capture(capture))
    if share is None:
        return None
    is_alike = info.backend == "host" if share.is_on_host else info.gpu is not None
    return WholeProgram(share, info.name, is_alike)


def _on_trials(trials: int, tasks: int) -> str:
    """What a number of trials is of, and whether it suffices."""
    few = FIRST_TRIALS * tasks
    enough = (
        "each that has anything to try gets its default and something else"
        if trials >= few
        else f"with fewer than {few}, some tasks may get none"
    )
    together = f"--trials {trials} is for all {tasks} tasks together, earlier runs included"
    return f"note: {together}; {enough}"


def default_device_note(tasks: Sequence[Task], devices: Sequence[str]) -> str:
    """A note if no device was named and the program ran on this machine's processor; else ""."""
    if tuple(devices) != (DEFAULT_DEVICE,) or any(task.device != "host" for task in tasks):
        return ""
    return (
        f"note: kernels are tuned for {DEFAULT_DEVICE}, the default device; the program ran on "
        "this machine's processor, for which --device host tunes them"
    )


def after_first_link(budget: ProgramBudget, link: Callable[[], None]) -> ProgramBudget:
    """Make a machine's first static link, and leave out of the budget what it took: minutes, in
    which a short budget would end without a trial."""
    before_s = time.monotonic()
    link()
    return replace(budget, start_s=budget.start_s + time.monotonic() - before_s)


def _boards_only(stream: TextIO) -> Listener:
    """Tells of boards that are taken out or come back, and of nothing else."""
    lines = LineProgress(stream)

    def listen(event: Event) -> None:
        if isinstance(event, BoardBack | BoardNote | BoardTakenOut):
            lines(event)

    return listen
