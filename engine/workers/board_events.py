"""What a pool of boards tells whoever listens, and what each board did."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BoardBack", "BoardEvent", "BoardNote", "BoardRecord", "BoardTakenOut"]


@dataclass(frozen=True)
class BoardTakenOut:
    """A board gets no more jobs until it passes its check; the job it had goes to another.

    Args:
        board: its name.
        reason: what it is at fault for, in one sentence.
    """

    board: str
    reason: str


@dataclass(frozen=True)
class BoardBack:
    """A board that was taken out has passed its check."""

    board: str


@dataclass(frozen=True)
class BoardNote:
    """What a user should know of a board that is well, in one sentence; said once."""

    board: str
    text: str


@dataclass(frozen=True)
class BoardRecord:
    """What a board did in a run.

    Args:
        board: its name.
        measured: configurations that it found out about.
        faults: jobs that it failed, which went to another board or were run again.
        busy_s: seconds that it spent on jobs.
    """

    board: str
    measured: int = 0
    faults: int = 0
    busy_s: float = 0.0

    def plus(self, other: BoardRecord) -> BoardRecord:
        """Both together."""
        return BoardRecord(
            self.board,
            self.measured + other.measured,
            self.faults + other.faults,
            self.busy_s + other.busy_s,
        )


BoardEvent = BoardTakenOut | BoardBack | BoardNote
