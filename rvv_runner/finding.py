"""What one step of a board's check has found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Finding"]

Level = Literal["ok", "note", "failed"]


@dataclass(frozen=True)
class Finding:
    """What one step of the preflight found.

    Args:
        step: what was checked.
        level: "ok"; "note" if it makes measurements worse; "failed" if it prevents them.
        text: what was found and, unless it is ok, what to do.
    """

    step: str
    level: Level
    text: str
