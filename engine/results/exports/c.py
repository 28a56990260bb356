"""A static library for RISC-V programs in C and C++: the winners of all studies as functions."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from engine.c_library.library_winner import LibraryWinner
from engine.c_library.package import write_library
from engine.c_library.variant import Function
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
    """Write the library; a line with its functions, lines on what they leave out, and one with how
    to link a program.

    Raises:
        UserError: for studies that cannot be in one library.
        ZigError: if this machine cannot compile it.
    """
    functions = write_library([winner for entry in entries for winner in entry], folder, tell)
    if functions:
        yield f"{folder}: {', '.join(function.name for function in functions)}"
        for function in functions:
            yield from _left_out(function)
        yield f"to link: {_link_command(folder)}"


def _left_out(function: Function) -> Iterator[str]:
    """What callers cannot give: integers that are compiled in, and sizes without code."""
    if passed := function.call.compiled_in:
        values = ", ".join(f"{name}={value}" for name, value in passed.items())
        yield f"{function.name}: compiled in, as the file passes them: {values}"
    if limits := function.kernel.limits_in_words(function.variants):
        yield f"{function.name}: {limits}"


def _link_command(folder: Path) -> str:
    """For a program in C, with the compiler that comes with this project."""
    include, lib = (shlex.quote(str(folder / name)) for name in ("include", "lib"))
    return (
        f"{python_command('ziglang')} cc -target riscv64-linux-musl -static PROGRAM.c -I {include} "
        f"-L {lib} -ltuned -o PROGRAM"
    )
