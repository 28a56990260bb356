"""What a user can rewrite of a kernel in which nothing varies."""

from __future__ import annotations

import sysconfig
from collections.abc import Sequence
from pathlib import Path

from kernels.captured.freedom import Freedom, Obstacle
from kernels.captured.task import Task

__all__ = ["rewriting"]


def rewriting(task: Task, freedoms: Sequence[Freedom]) -> str:
    """What to rewrite so that there is something to try, and the line that launches the kernel.

    "" where something may be found to vary yet.

    Args:
        task: none of whose constants varies.
        freedoms: of its constants.
    """
    if any(freedom.obstacle == "untried" for freedom in freedoms):
        return ""  # what is not tried yet may vary as it is
    covering = _named(freedoms, "covers its axis")
    staying = _named(freedoms, "fixed grid")
    changing = _named(freedoms, "changes outputs")
    if covering:
        advice = (
            f"{covering} covers an axis: let a program take several rows, or go over the axis in a "
            "loop, by a new tl.constexpr that the grid, or the loop, follows"
        )
    elif staying:
        advice = f"divide a size by {staying} in the grid"
    elif changing:
        advice = (
            f"let no output depend on {changing}, as one number for each block does, and what "
            "programs read that others write"
        )
    elif task.listed:
        advice = "give triton.autotune entries with other values of the constants"
    else:
        advice = (
            "make the number of elements, or rows, that a program takes a tl.constexpr that the "
            "grid follows"
        )
    return advice + (f" ({_shown(task.launched_at)} launches it)" if task.launched_at else "")


def _named(freedoms: Sequence[Freedom], obstacle: Obstacle) -> str:
    """The constants that stay for a reason, with their values."""
    return ", ".join(f"{f.name}={f.deployed}" for f in freedoms if f.obstacle == obstacle)


def _shown(line: str) -> str:
    """A line of a file, from the folder of packages, or the current one, on."""
    for folder in (Path(sysconfig.get_paths()["purelib"]), Path.cwd()):
        if line.startswith(f"{folder}/"):
            return line.removeprefix(f"{folder}/")
    return line
