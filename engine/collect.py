"""Add results measured by hand to their study: python -m engine.collect DIR."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.study.location import DEFAULT_STORAGE
from foundation.command_line import (
    EXIT_FOUND,
    EXIT_NOTHING_VALID,
    ArgumentParser,
    invocation,
    run_command,
)
from foundation.errors import UserError
from foundation.printing import say
from rvv_runner.devices import known_board
from rvv_runner.measurement import OUTCOMES

if TYPE_CHECKING:
    from engine.by_hand.checked_rows import CheckedRow
    from engine.by_hand.study_file import StudyFile
    from engine.search import Search

__all__ = ["main"]

_PROG = "engine.collect"
_DESCRIPTION = "Adds the measurements of run_perf.py on a board to the study."
_EPILOG = "Exit status: 0 if there were results, 1 if there were none, 2 for a mistake."


def main(argv: Sequence[str] | None) -> int:
    """Run the command and return the exit status.

    Raises:
        UserError, BoardError: for a folder that cannot be collected.
    """
    return EXIT_FOUND if _collect(_parse(argv)) else EXIT_NOTHING_VALID


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    parser.add_argument(
        "folder", metavar="DIR", type=Path, help="the folder that engine.build created"
    )
    foreign = "needed for a folder that another user built"
    parser.add_argument("--kernel", metavar="FILE", help=f"the kernel's file; {foreign}")
    parser.add_argument("--storage", metavar="PLACE", help=f"where the study is; {foreign}")
    return parser.parse(argv)


def _collect(arguments: argparse.Namespace) -> bool:
    """Store the rows in the study; return whether there were any."""
    from engine.by_hand.checked_rows import checked_rows
    from engine.results.units import time_text

    search, board = _open_search(arguments)
    outcomes = Counter(_take(search, row, board) for row in checked_rows(arguments.folder / "run"))
    for outcome, count in outcomes.items():
        say(f"{count} {outcome}")
    best = search.best()
    if best is not None:
        say(f"best of the study: {time_text(best[1])}: {best[0]}")
    return bool(outcomes)


def _open_search(arguments: argparse.Namespace) -> tuple[Search, str]:
    """The study that the folder was built for, and the name of the board."""
    # Triton and Optuna take seconds to import: --help and mistyped names do not wait for them.
    from engine.by_hand.study_file import read_study_file
    from engine.run.identity import identity_of
    from engine.search import Search
    from engine.study.storage import open_study
    from kernels.registry import load_kernel, make_problem

    folder = arguments.folder
    kept = read_study_file(folder)
    problem = make_problem(load_kernel(_kernel(kept, arguments)), kept.shape, kept.dtype)
    info = known_board(kept.board).info(kept.board)
    identity = identity_of(problem, info, kept.sampler, seed=kept.seed)
    if dict(identity.made_with) != dict(kept.made_with):
        raise UserError(
            f"the executables in {folder} were made with another compiler, kernel source or board "
            "model than today's, so their times cannot be compared: build the folder again"
        )
    space = problem.space(info)
    stored = open_study(_storage(kept, arguments), identity, space, kept.study)
    return Search(space, trials=stored), kept.board


def _kernel(kept: StudyFile, arguments: argparse.Namespace) -> str:
    """The kernel to import; a kernel's file is code, which only this user may name.

    Raises:
        UserError: if another user's folder names a file.
    """
    from kernels.registry import is_kernel_file

    if arguments.kernel is not None:
        return str(arguments.kernel)
    if kept.is_own or not is_kernel_file(kept.kernel):
        return kept.kernel
    raise UserError(
        f"{arguments.folder} was built by another user or changed since, and names the kernel's "
        f"file {kept.kernel}, whose code would run here: if you trust it, add --kernel "
        f"{kept.kernel}"
    )


def _storage(kept: StudyFile, arguments: argparse.Namespace) -> str:
    """Where the study is; only this user may name a place that is written to.

    Raises:
        UserError: if another user's folder names a place.
    """
    if arguments.storage is not None:
        return str(arguments.storage)
    if kept.is_own or kept.storage == DEFAULT_STORAGE:
        return kept.storage
    raise UserError(
        f"{arguments.folder} was built by another user or changed since, and names the storage "
        f"{kept.storage}: if the results are to go there, add --storage {kept.storage}"
    )


def _take(search: Search, row: CheckedRow, board: str) -> str:
    """Tell the study about a row; return what was done with it, in words."""
    if row.config is None:
        return "ignored: the executable is not in this folder"
    is_right = row.checked and row.time_s is not None
    if row.status not in OUTCOMES or (row.status == "correct" and not is_right):
        return f"ignored: the board was at fault or the output was not checked ({row.status})"
    if not search.take(row.config):
        return "already in the study"
    search.tell(
        row.config,
        row.time_s if row.status == "correct" else None,
        status=row.status,
        attributes=_attributes(row, board),
    )
    return f"added: {row.status}"


def _attributes(row: CheckedRow, board: str) -> dict[str, object]:
    """What is stored with a trial besides its time; an empty counter is absent."""
    attributes: dict[str, object] = {
        "board": f"{board} (by hand)",
        "elf_sha256": row.elf_sha256,
        "times_s": list(row.times_s),
        "counters": dict(row.counters),
        "reason": row.reason,
        "max_abs_error": row.max_abs_error,
    }
    return {name: value for name, value in attributes.items() if value not in ("", None, {}, [])}


if __name__ == "__main__":
    run_command(main, _PROG)
