"""A static library for RISC-V programs in C and C++: the winners of all studies as functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from engine.c_library.library_winner import LibraryWinner
from engine.c_library.package import write_library
from engine.c_library.winners import winners_of
from engine.results.tuned_shape import UnfitStudyError
from engine.study.trials import StoredTrials
from foundation.errors import UserError

__all__ = ["entry_of", "write_entries"]


def entry_of(study: StoredTrials) -> list[LibraryWinner]:
    """The study's winner at each of its shapes; none if no configuration was correct.

    Raises:
        UnfitStudyError: for a study that cannot be part of a library.
    """
    try:
        return winners_of(study)
    except UserError as error:
        raise UnfitStudyError(str(error)) from error


def write_entries(
    entries: Sequence[Sequence[LibraryWinner]], folder: Path, tell: Callable[[str], None]
) -> Iterator[str]:
    """Write the library.

    Raises:
        UserError: for studies that cannot be in one library.
        ZigError: if this machine cannot compile it.
    """
    names = write_library([winner for entry in entries for winner in entry], folder, tell)
    if names:
        yield f"{folder}: {', '.join(names)}"
