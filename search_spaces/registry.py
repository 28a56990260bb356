"""Search spaces by kernel: each file of this folder that is named after a kernel has its space.

The folder `gpu` has those for GPUs. A folder in either holds more spaces under a name of its own,
such as `gpu/aiter`, which a user chooses by that name.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import cast

from foundation.errors import UserError, nearest
from rvv_runner.board import BoardInfo
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["kernels_in_space", "registered_space", "space_names"]

_HERE = Path(__file__).parent


def registered_space(
    kernel: str, problem: Problem, board: BoardInfo, name: str = ""
) -> SearchSpace:
    """The search space of a registered kernel at one shape on one board.

    Args:
        kernel: the kernel's name.
        problem: the kernel at its shape.
        board: the board, which decides between spaces for GPUs and for vector boards.
        name: of one of several spaces; "" for the kernel's own.

    Raises:
        UserError: if there is no file for the kernel.
    """
    folder = _HERE / "gpu" if board.gpu else _HERE
    named = folder / name if name else folder
    if not (named / f"{kernel}.py").is_file():
        raise UserError(_why_none(kernel, folder, name))
    module = ".".join((__package__, *named.relative_to(_HERE).parts, kernel))
    return cast(SearchSpace, importlib.import_module(module).space(problem, board))


def space_names() -> list[str]:
    """The names of spaces that a user can choose, sorted."""
    folders = (path.parent for path in _HERE.glob("gpu/*/__init__.py"))
    return sorted({folder.name for folder in folders})


def kernels_in_space(name: str) -> list[str]:
    """The kernels that have a search space of that name, sorted."""
    paths = _HERE.glob(f"gpu/{name}/*.py")
    return sorted(path.stem for path in paths if path.stem != "__init__")


def _why_none(kernel: str, folder: Path, name: str) -> str:
    if name:
        others = sorted(path.parent.name for path in folder.glob(f"*/{kernel}.py"))
        others = [other for other in others if other != "gpu"]
        if not others:
            return f"{kernel} has only its own search space here: leave out --space {name}"
        return f"{kernel} has no search space named {name}: {nearest(name, others)}"
    where = f"{folder.relative_to(_HERE.parent)}/{kernel}.py"
    kind = "search space for GPUs" if folder != _HERE else "search space"
    return f"the kernel {kernel} has no {kind}: write {where} with a function space(problem, board)"
