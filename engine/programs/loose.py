"""Which constants of captured kernels may make blocks that reach behind a size.

A kernel without masks is right only where its blocks divide its sizes. At other sizes than the
tuned ones, another block of it would write behind its tensors.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from kernels.captured.task import Task
from kernels.captured.task_file import Capture
from kernels.captured.task_values import Constant, Scalar, TupleValue, Value
from triton_rvv.launches.grid_text import Division, divisions

__all__ = ["loose_constants"]


def loose_constants(captured: Capture) -> dict[str, frozenset[str]]:
    """By the digest of a kernel, the constants whose blocks may reach behind a size.

    Blocks of the program's own configurations did, or of a winner's, which was checked; or, in what
    torch.compile wrote, the size is a number, or a mask leaves out what lies behind it.
    """
    grids: dict[str, set[str]] = {}
    by_key = {task.key: task for task in captured.tasks}
    for winner in captured.every_winner:
        if winner.grid is not None and winner.task in by_key:
            grids.setdefault(by_key[winner.task].kernel.digest, set()).update(winner.grid)
    found: dict[str, frozenset[str]] = {}
    for task in captured.tasks:
        digest = task.kernel.digest
        for values in _launched(captured, task):
            for text in grids.get(digest, ()):
                found[digest] = found.get(digest, frozenset()) | _loose_in(text, values, task)
    return found


def _launched(captured: Capture, task: Task) -> Iterator[dict[str, Any]]:
    """The parameters as the program launched a task, and with its winners."""
    own = {name: _plain(value) for name, value in task.arguments.items()} | dict(task.constants)
    yield own
    for winner in captured.every_winner:
        if winner.task == task.key:
            yield {**own, **winner.config}


def _loose_in(text: str, values: Mapping[str, Any], task: Task) -> frozenset[str]:
    found: list[Division] = []
    with contextlib.suppress(ValueError):
        found = divisions(text, values)
    return frozenset(
        name
        for one in found
        for name in one.names
        if one.reaches_behind or _is_fixed(one, task) or _is_masked(name, task)
    )


def _is_fixed(division: Division, task: Task) -> bool:
    """Whether torch.compile wrote a size as a number, as in `xnumel = 1632`."""
    kernel = task.kernel
    return kernel.is_generated and any(
        re.search(rf"^\s*{name} = \d+$", kernel.source, re.MULTILINE)
        for name in division.size_names
    )


def _is_masked(name: str, task: Task) -> bool:
    """Whether torch.compile wrote a mask for a block, as in `xmask = xindex < xnumel`.

    Each load and store along the axis has it then. Where it knows that its own blocks divide the
    size, it writes `xmask = tl.full(...)`, and leaves the mask out.
    """
    axis = re.fullmatch("([XYZ])BLOCK", name)
    if axis is None or not task.kernel.is_generated:
        return False
    x = axis[1].lower()
    mask = rf"^\s*{x}mask = {x}index < {x}numel$"
    return re.search(mask, task.kernel.source, re.MULTILINE) is not None


def _plain(value: Value | Constant) -> Any:
    """An argument as formulas read it: a number, what has a shape, or a list of these."""
    if isinstance(value, Scalar):
        return value.value
    return [_plain(part) for part in value.values] if isinstance(value, TupleValue) else value
