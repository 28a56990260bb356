"""The first runs of a user's file: what is wrong with it is told before anything is built."""

from __future__ import annotations

from collections.abc import Callable

from engine.workers.workbench import prepare_runs_here
from kernels.spec import Problem
from rvv_runner.board import BoardInfo

__all__ = ["checked_file"]


def checked_file(problem: Problem, info: BoardInfo, tell: Callable[[str], None]) -> tuple[str, ...]:
    """Sentences on how outputs are checked.

    What a GPU computes in a moment may take this machine minutes, so its own process finds it.

    Args:
        problem: of any kernel; of one that the project has, there is nothing to say.
        info: of the board.
        tell: called with the next step, as shown to the user.

    Raises:
        UserError: for a mistake in the file.
    """
    check = problem.spec.check
    if check is None or info.gpu is not None:
        return ()
    prepare_runs_here(problem, info, tell)
    name = problem.spec.name
    if problem.spec.is_its_reference:
        tell(f"running {name} in Triton's interpreter; with a function `reference`, this is faster")
    else:
        tell(f"trying the check's inputs on {name}")
    return check(problem)
