"""The tasks of a capture's file as a program to tune, and its winners back in the file."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from engine.programs.labels import task_labels
from engine.programs.standing import ProgramTask, TaskStanding
from foundation.errors import UserError
from kernels.captured.examination import digest_of, examine
from kernels.captured.examined import read_examined
from kernels.captured.names import split_task_name, task_name
from kernels.captured.recorded import load_task
from kernels.captured.task_file import Capture, append_winner, read_capture
from kernels.captured.winner import Winner
from rvv_runner.board import BoardInfo

__all__ = ["examine_new", "keep_winner", "program_tasks", "unexamined"]


def program_tasks(capture: Path) -> list[ProgramTask]:
    """The tasks of a capture, the one that took the longest first.

    Raises:
        UserError: if the file is no capture, or holds no task.
    """
    tasks = read_capture(capture).tasks
    if not tasks:
        raise UserError(f"{capture} holds no launch of a Triton kernel: capture another program")
    labels = task_labels(tasks)
    wide = {key for key, examined in read_examined(capture).items() if examined.is_wide}
    return [
        ProgramTask(
            key=task.key,
            load_name=task_name(capture, task.key),
            kernel=task.kernel.name.removesuffix("_kernel"),
            label=labels[task.key],
            launches=task.launches,
            captured_s=None if task.time_s is None else task.time_s / task.launches,
            listed=len(task.listed),
            size_bytes=task.size_bytes,
            is_wide=task.key in wide,
        )
        for task in tasks
    ]


def unexamined(capture: Path, *, widens: bool = False, given_s: float = math.inf) -> list[str]:
    """The keys of tasks of which nothing is kept, or something that no longer holds.

    Args:
        capture: the file.
        widens: whether more may vary from now on than the kernels' autotuners list.
        given_s: seconds for examining; what was cut off in half as many is begun anew.

    Returns:
        Those of the tasks that took the longest first.
    """
    kept = read_examined(capture)
    new = []
    for key in (task.key for task in program_tasks(capture)):
        try:
            task = load_task(capture, key)
        except UserError:
            continue  # refused again when it is tuned
        is_current = key in kept and kept[key].digest == digest_of(task)
        if (
            not is_current
            or (widens and task.listed and not kept[key].is_wide)
            or ((cut_off_s := kept[key].within_s) is not None and 2 * cut_off_s <= given_s)
        ):
            new.append(key)
    return new


def examine_new(
    capture: Path,
    begun: Callable[[ProgramTask], None],
    *,
    widens: bool = False,
    of_share: float = 1.0,
) -> list[str]:
    """Find out about the tasks of which nothing is kept, or something that no longer holds.

    Args:
        capture: the file.
        begun: called with each task when its turn comes.
        widens: as in `unexamined`.
        of_share: of the tasks' time, from 0 to 1; the shortest tasks are left that are not needed
            for so much of it.

    Returns:
        The keys of the tasks that were left, also since the command was stopped.

    Raises:
        UserError: if what was found cannot be kept.
    """
    tasks = {task.key: task for task in program_tasks(capture)}
    new = unexamined(capture, widens=widens)
    heavy = _heaviest(read_capture(capture), of_share)
    asked = [key for key in new if key in heavy]
    found = examine(capture, asked, lambda key: begun(tasks[key]), widens=widens) if asked else []
    return [key for key in new if key not in found]


def _heaviest(captured: Capture, of_share: float) -> set[str]:
    """The keys of the longest tasks that together take such a share; tasks without a time, too."""
    heavy, covered = set(), 0.0
    for task in captured.tasks:  # the longest first
        share = captured.share(task)
        if share is None or covered < of_share:
            heavy.add(task.key)
            covered += share or 0.0
    return heavy


def keep_winner(standing: TaskStanding, info: BoardInfo) -> None:
    """Add what is best so far to the capture's file, if the task has a winner.

    Args:
        standing: of the task.
        info: of the board.

    Raises:
        UserError: if the file cannot be written.
    """
    result, best_s, deployed_s = standing.result, standing.best_s, standing.deployed_s
    if result is None or best_s is None or deployed_s is None:
        return
    trial = standing.to_use
    assert trial is not None
    capture, key = split_task_name(standing.task.load_name)
    probed, read = read_examined(capture)[key].required(), read_capture(capture)
    (task,) = (task for task in read.tasks if task.key == key)
    winner = Winner(
        task=key,
        config=trial.config,
        grid=probed.rule.texts() if probed.rule.factors else None,
        deployed_time_s=deployed_s,
        time_s=best_s,
        is_estimated=result.summary.estimated,
        device=result.device_name,
        device_kind="gpu" if info.gpu else "host" if info.backend == "host" else "board",
        study=result.study,
        loads=probed.blocks.blocks({**task.constants, **trial.config}),
        untold=probed.rule.untold(task.constants, trial.config),
        tied=standing.stays_deployed,
    )
    if winner in read.every_winner:
        return
    try:
        append_winner(capture, winner)
    except OSError as error:
        raise UserError(f"{capture} cannot be written: {error.strerror}") from error
