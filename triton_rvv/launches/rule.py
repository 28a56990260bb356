"""What an overlay launches in place of what a program asks for.

It stands alone, so that who writes an overlay for another process does not import torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Rule"]


@dataclass(frozen=True)
class Rule:
    """A configuration for the launches of one task, and for those near to it.

    Args:
        task, call_key, family, call_family: as `Signature` makes them for the task.
        kernel: the digest of its code.
        name: of the kernel, with its module.
        sizes: the task's: all integers, and the dimensions of its tensors.
        dimensions: of its tensors alone.
        config: constants and options.
        grid: formulas for a grid that the program gives as numbers, or None if it stays.
        is_grid_callable: whether the program gave a function for the grid.
        followed: the constants that the grid follows: others may have to fit the task's sizes.
        loose: constants whose blocks may reach behind a size: the kernel was seen to leave out what
            lies there, its text does, or the size is part of the kernel.
        loads: by parameter, what one load of a tensor descriptor takes.
        untold: constants whose value changed no number of programs where it was tuned.
    """

    task: str
    call_key: str
    family: str
    call_family: str
    kernel: str
    name: str
    sizes: Sequence[int]
    dimensions: Sequence[int]
    config: Mapping[str, Any]
    grid: Sequence[str] | None
    is_grid_callable: bool
    followed: Sequence[str]
    loose: Sequence[str] = ()
    loads: Mapping[str, Sequence[int]] = field(default_factory=dict)
    untold: Sequence[str] = ()
