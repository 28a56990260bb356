"""`find FILE` of a capture: its winners, and how to run the program with them."""

from __future__ import annotations

import shlex
from pathlib import Path

from engine.programs.captured_program import program_tasks
from engine.results.units import counted, short_config, speedup_text
from kernels.captured.task_file import Capture, read_capture
from kernels.captured.winner import Winner
from rvv_runner.devices import HOST_DEVICE

__all__ = ["winner_records", "winners_text"]


def winner_records(capture: Path, device: str) -> list[dict[str, object]]:
    """The winners that a capture's file holds for a device, as records for JSON.

    Raises:
        UserError: if the file is no capture, or holds no task.
    """
    labels = {task.key: task.label for task in program_tasks(capture)}
    return [
        {
            "task": labels[winner.task],
            "key": winner.task,
            "config": dict(winner.config),
            "deployed_time_s": winner.deployed_time_s,
            "time_s": winner.time_s,
            "estimated": winner.is_estimated,
            "tied": winner.tied,
            "device": winner.device,
            "study": winner.study,
        }
        for winner in _of_device(read_capture(capture), device)
    ]


def winners_text(capture: Path, device: str) -> str:
    """The same for people, and the command that uses them, or that makes them.

    Raises:
        UserError: as `winner_records`.
    """
    read = read_capture(capture)
    labels = {task.key: task.label for task in program_tasks(capture)}
    winners = _of_device(read, device)
    if not winners:
        others = sorted({winner.device for winner in read.every_winner})
        known = f" but for {', '.join(others)}" if others else ""
        # Without a number, `tune` takes all cores of this machine.
        one = " --cores 1" if device == HOST_DEVICE else ""
        return (
            f"{capture} holds {counted(len(labels), 'task')} and no winner for {device}{known}: "
            f"tune them by `rvv-tune tune {shlex.quote(str(capture))} --device {device}{one}`"
        )
    lines = [
        f"{labels[winner.task]}: {_config_text(winner)}, {_gain_text(winner)}" for winner in winners
    ]
    program = shlex.join(read.commands[0]) if read.commands else "COMMAND"
    return "\n".join(
        [*lines, f"to use them, run: rvv-tune run --with {shlex.quote(str(capture))} -- {program}"]
    )


def _gain_text(winner: Winner) -> str:
    if winner.tied:
        return "as deployed: nothing that was tried is known to be faster"
    return f"{speedup_text(winner.deployed_time_s / winner.time_s)} the deployed speed"


def _config_text(winner: Winner) -> str:
    return short_config(winner.config) if winner.config else "no parameters to tune"


def _of_device(read: Capture, device: str) -> list[Winner]:
    """Its winners for a device, in the order of the tasks' times."""
    found = {winner.task: winner for winner in read.every_winner if winner.device == device}
    return [found[task.key] for task in read.tasks if task.key in found]
