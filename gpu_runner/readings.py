"""What a GPU says of itself at one moment, and who can be asked for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = ["Reading", "ReadingSource"]


@dataclass(frozen=True)
class Reading:
    """What a GPU says of itself; None for what it does not tell.

    Args:
        clock_hz: of its multiprocessors now.
        temperature_c: of its processor.
        slowdown: why it protects itself by working more slowly; "" if it does not.
        other_percent: the highest share of its time that another program had since the last
            reading.
    """

    clock_hz: float | None = None
    temperature_c: float | None = None
    slowdown: str = ""
    other_percent: float | None = None


class ReadingSource(Protocol):
    """Reads one GPU."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What it cannot see, one sentence each."""
        ...

    def know_own_process(self) -> None:
        """Call once when this process has its context, which other programs' are told from."""

    def read(self) -> Reading:
        """What the GPU says now."""
        ...
