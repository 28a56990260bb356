"""Search spaces by kernel: every file of this folder that is named after a kernel is one."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import cast

from engine.errors import UserError
from kernels.spec import Problem
from rvv_runner.board import BoardInfo
from search_spaces.space import SearchSpace

__all__ = ["space_for"]


def space_for(problem: Problem, board: BoardInfo) -> SearchSpace:
    """The space of a kernel at one shape on one board.

    Raises:
        UserError: where there is no file for the kernel.
    """
    if problem.spec.space is not None:
        return problem.spec.space(problem, board)
    name = problem.spec.name
    if not (Path(__file__).parent / f"{name}.py").exists():
        raise UserError(
            f"nothing says what may be tried for the kernel {name}: write search_spaces/{name}.py "
            "with a function space(problem, board)"
        )
    return cast(SearchSpace, importlib.import_module(f"search_spaces.{name}").space(problem, board))
