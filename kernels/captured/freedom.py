"""What a constexpr of a captured kernel may be, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from foundation.config import ParameterValue

__all__ = ["STAGES", "Freedom", "Obstacle", "hint_freedom", "is_block"]

# Why a block stays, where a user can change that: it covers an axis, the program's grid does not
# follow it, outputs differ though the grid may follow, or no time was left to try other values.
Obstacle = Literal["", "covers its axis", "fixed grid", "changes outputs", "untried"]

STAGES = (1, 2, 3, 4)  # of a pipelined loop, or of all loops of a kernel


@dataclass(frozen=True)
class Freedom:
    """What a constexpr of a captured kernel may be.

    Args:
        name: of the constexpr.
        deployed: its value in the program.
        values: those to try, the deployed one among them; one value if it stays.
        why: why it varies or stays, for the user.
        obstacle: the same, for programs, where the user can change it.
        is_hint: whether only a compiler for GPUs looks at it.
    """

    name: str
    deployed: ParameterValue | None
    values: tuple[ParameterValue, ...]
    why: str
    obstacle: Obstacle = ""
    is_hint: bool = False

    @property
    def varies(self) -> bool:
        """Whether there is another value to try."""
        return len(self.values) > 1


def hint_freedom(name: str, value: int) -> Freedom:
    """The freedom of a number of stages, which changes no output and needs no run.

    Args:
        name: of the constexpr.
        value: in the program.
    """
    values = tuple(sorted({*STAGES, value}))
    return Freedom(name, value, values, "a hint that processors ignore", is_hint=True)


def is_block(value: object) -> bool:
    """Whether a value may be a block's size: a power of two above 1."""
    return type(value) is int and value > 1 and not value & (value - 1)
