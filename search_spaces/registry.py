"""Search spaces by kernel: each file of this folder that is named after a kernel has its space."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import cast

from foundation.errors import UserError
from rvv_runner.board import BoardInfo
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["registered_space"]


def registered_space(kernel: str, problem: Problem, board: BoardInfo) -> SearchSpace:
    """The search space of a registered kernel at one shape on one board.

    Raises:
        UserError: if there is no file for the kernel.
    """
    if not (Path(__file__).parent / f"{kernel}.py").exists():
        raise UserError(
            f"the kernel {kernel} has no search space: write search_spaces/{kernel}.py "
            "with a function space(problem, board)"
        )
    return cast(
        SearchSpace, importlib.import_module(f"search_spaces.{kernel}").space(problem, board)
    )
