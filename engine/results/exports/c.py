"""A static library for RISC-V programs in C and C++: the winners of all studies as functions."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from engine.c_library.library_winner import LibraryWinner
from engine.c_library.package import write_library
from engine.c_library.winners import winners_of
from engine.results.tuned_shape import UnfitStudyError
from engine.study.trials import StoredTrials
from foundation.errors import UserError
from foundation.programs import python_command

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
    """Write the library; a line with its functions, and one with how to link a program.

    Raises:
        UserError: for studies that cannot be in one library.
        ZigError: if this machine cannot compile it.
    """
    names = write_library([winner for entry in entries for winner in entry], folder, tell)
    if names:
        yield f"{folder}: {', '.join(names)}"
        yield f"to link: {_link_command(folder)}"


def _link_command(folder: Path) -> str:
    """For a program in C, with the compiler that comes with this project."""
    include, lib = (shlex.quote(str(folder / name)) for name in ("include", "lib"))
    return (
        f"{python_command('ziglang')} cc -target riscv64-linux-musl -static PROGRAM.c -I {include} "
        f"-L {lib} -ltuned -o PROGRAM"
    )
