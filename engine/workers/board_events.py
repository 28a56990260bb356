"""Events of a board pool, and a record of what each board did."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BoardBack", "BoardEvent", "BoardNote", "BoardRecord", "BoardSilent", "BoardTakenOut"]


@dataclass(frozen=True)
class BoardTakenOut:
    """A board gets no more jobs until it passes its check; its job goes to another board.

    Args:
        board: its name.
        reason: its fault, in one sentence.
    """

    board: str
    reason: str


@dataclass(frozen=True)
class BoardBack:
    """A board that was taken out has passed its check."""

    board: str


@dataclass(frozen=True)
class BoardNote:
    """One sentence that a user should know about a working board; told once."""

    board: str
    text: str


@dataclass(frozen=True)
class BoardSilent(BoardNote):
    """A board does not answer or is too hot, and is waited for; or it answers again."""


@dataclass(frozen=True)
class BoardRecord:
    """What a board did in a run.

    Args:
        board: its name.
        measured: configurations for which it gave an outcome.
        faults: jobs that it failed, which went to another board or were repeated.
        busy_s: seconds spent on jobs.
    """

    board: str
    measured: int = 0
    faults: int = 0
    busy_s: float = 0.0

    def plus(self, other: BoardRecord) -> BoardRecord:
        """The sum of both."""
        return BoardRecord(
            self.board,
            self.measured + other.measured,
            self.faults + other.faults,
            self.busy_s + other.busy_s,
        )


BoardEvent = BoardTakenOut | BoardBack | BoardNote
