"""`tune FILE`: tunes the tasks of a capture, and adds the winners to its file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from engine.programs.captured_program import examine_new, keep_winner, program_tasks
from engine.programs.printed import print_change, print_program, program_record
from engine.programs.standing import TaskStanding
from engine.programs.tuning import ProgramBudget, tune_program
from engine.results.json import json_text
from engine.results.progress import LineProgress
from engine.run.events import Event, Listener
from engine.run.request import TuningRequest
from engine.workers.board_events import BoardBack, BoardNote, BoardTakenOut
from engine.workers.devices import board_info
from foundation.printing import say

__all__ = ["tune_capture"]

_TRIALS_PER_TASK = 20  # if the user gives no budget

# Of the time of a budget: what is found out is kept, so the same command finds out about the rest.
_EXAMINED_PART = 0.5
_NOT_EXAMINED = "half of the budget was over before its turn to be examined: run the command again"


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
    stream = sys.stderr if as_json or sys.stdout.isatty() else sys.stdout
    tasks = program_tasks(capture)
    if budget.trials is None and budget.time_s is None:
        budget = replace(budget, trials=_TRIALS_PER_TASK * len(tasks))
    info = board_info(request.devices[0], request.work.ray_address)
    left = examine_new(
        capture,
        lambda task: say(f"stage=examining {task.label}", file=sys.stderr),
        budget.end_s(_EXAMINED_PART),
        widens=widens,
    )
    tasks = [replace(task, refusal=_NOT_EXAMINED) if task.key in left else task for task in tasks]

    def changed(standings: Sequence[TaskStanding], number: int) -> None:
        keep_winner(standings[number], info)
        print_change(standings, number, stream)

    standings = tune_program(
        tasks, request, budget, listener_of=lambda task: _boards_only(stream), changed=changed
    )
    if as_json:
        say(json_text(program_record(standings)))
    else:
        print_program(standings, sys.stdout)
    return any(standing.best_s is not None for standing in standings)


def _boards_only(stream: TextIO) -> Listener:
    """Tells of boards that are taken out or come back, and of nothing else."""
    lines = LineProgress(stream)

    def listen(event: Event) -> None:
        if isinstance(event, BoardBack | BoardNote | BoardTakenOut):
            lines(event)

    return listen
