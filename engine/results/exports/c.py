"""A static library for RISC-V programs in C and C++: the winners of all studies as functions."""

from __future__ import annotations

import shlex
from collections import Counter
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
from rvv_runner.usage import without_cores
from triton_rvv.targets.target import RVVTarget

__all__ = ["entry_of", "fitting", "write_entries"]


def entry_of(study: StoredTrials) -> list[LibraryWinner]:
    """The study's winner at each of its shapes; none if no configuration was correct.

    Raises:
        UnfitStudyError: for a study that cannot be part of a library.
    """
    try:
        return winners_of(study)
    except UserError as error:
        raise UnfitStudyError(str(error)) from error


def fitting(
    entries: Sequence[Sequence[LibraryWinner]],
) -> tuple[list[Sequence[LibraryWinner]], list[str]]:
    """Those of some entries that go into one library, and a sentence for each other study.

    Of cores with one vector length a library has one: the one with most times that were measured,
    or else most studies.
    """
    counts: dict[int, Counter[RVVTarget]] = {}
    devices: dict[RVVTarget, str] = {}
    for first, *_ in filter(None, entries):
        of_length = counts.setdefault(first.target.vlen_bits, Counter())
        of_length[first.target] += 1 if first.estimated else len(entries) + 1
        devices.setdefault(first.target, without_cores(first.device))
    chosen = {vlen_bits: found.most_common(1)[0][0] for vlen_bits, found in counts.items()}
    kept, left_out = [], []
    for entry in filter(None, entries):
        target = chosen[entry[0].target.vlen_bits]
        if entry[0].target == target:
            kept.append(entry)
        else:
            left_out.append(
                f"{entry[0].study} is of another core than {devices[target]}, whose code this "
                f"library has for vectors of {target.vlen_bits} bits: write another one with "
                f"--device {without_cores(entry[0].device)} and an --out of its own"
            )
    return kept, left_out


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
