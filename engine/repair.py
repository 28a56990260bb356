"""Copy the intact part of a damaged journal to a new one: python -m engine.repair JOURNAL."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from foundation.command_line import (
    EXIT_FOUND,
    EXIT_NOTHING_VALID,
    ArgumentParser,
    invocation,
    run_command,
)
from foundation.errors import UserError
from foundation.printing import say

if TYPE_CHECKING:
    from engine.study.repair import Repair

__all__ = ["main"]

_PROG = "engine.repair"
_DESCRIPTION = "Copies the intact part of a damaged journal to a new one, and lists what is lost."
_EPILOG = "Exit status: 0 if the new journal has a study, 1 if it has none, 2 for a mistake."


def main(argv: Sequence[str] | None) -> int:
    """Run the command and return the exit status.

    Raises:
        UserError: for a journal that cannot be read, or a new one that cannot be written.
    """
    arguments = _parse(argv)
    # Optuna takes a second to import: --help does not wait for it.
    from engine.study.repair import repair
    from engine.study.storage import read_studies

    journal: Path = arguments.journal
    try:
        repaired = repair(journal)
        if not repaired.lines:
            raise UserError(f"no line of {journal} is that of a journal: name another file")
        written: Path = arguments.out or journal.with_suffix(f".repaired{journal.suffix}")
        with written.open("xb") as file:
            file.writelines(line + b"\n" for line in repaired.lines)
    except FileExistsError:
        raise UserError(f"{written} exists: remove it, or give --out another file") from None
    except OSError as error:
        raise UserError(f"{error.filename} cannot be used: {error.strerror}") from error
    studies = len(read_studies(str(written)))
    say(_report(repaired))
    say(f"written: {written}, with {studies} {'study' if studies == 1 else 'studies'}")
    return EXIT_FOUND if studies else EXIT_NOTHING_VALID


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    parser.add_argument(
        "journal", metavar="JOURNAL", type=Path, help="the damaged journal, left as it is"
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        help="the new journal (default: beside the other, NAME.repaired.journal)",
    )
    return parser.parse(argv)


def _report(repaired: Repair) -> str:
    if not repaired.damaged:
        return "no line is damaged"
    lines = ", ".join(map(str, repaired.damaged))
    lost = f"damaged: {'line' if len(repaired.damaged) == 1 else 'lines'} {lines}"
    if repaired.lost_trials:
        lost += f"; configurations lost: {repaired.lost_trials}"
    if repaired.lost_studies:
        lost += f"; studies whose names are lost: {repaired.lost_studies}"
    return lost


if __name__ == "__main__":
    run_command(main, _PROG)
