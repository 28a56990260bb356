"""Write studies for other programs: python -m engine.export [STUDY ...] [--format NAME]"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from engine.arguments.options import add_storage_argument
from engine.results.exports import format_names, writer_of
from foundation.command_line import (
    EXIT_FOUND,
    EXIT_NOTHING_VALID,
    ArgumentParser,
    invocation,
    one_of,
    run_command,
)
from foundation.printing import say

__all__ = ["main"]

_PROG = "engine.export"
_DESCRIPTION = "Writes each study to a folder of its own, in the format of another program."
_EPILOG = "Exit status: 0 if a file was written, 1 if there was nothing to write, 2 for a mistake."


def main(argv: Sequence[str] | None) -> int:
    """Run the command and return the exit status.

    Raises:
        UserError: for a mistake in the arguments, an unreadable storage or an unwritable folder.
    """
    arguments = _parse(argv)
    # Optuna and pandas take seconds to import: --help does not wait for them.
    from engine.study.location import file_stem
    from engine.study.storage import read_studies, study_named
    from foundation.errors import UserError

    if arguments.studies:
        chosen = [study_named(arguments.storage, name) for name in arguments.studies]
    else:
        chosen = read_studies(arguments.storage)
    write = writer_of(arguments.format)
    written = 0
    for study in chosen:
        folder = arguments.out / file_stem(study.study_name)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            line = write(study, folder)
        except OSError as error:
            raise UserError(
                f"{folder} cannot be written ({error.strerror}): give another folder with --out"
            ) from error
        if line:
            say(f"{folder}: {line}")
            written += 1
        elif not any(folder.iterdir()):
            folder.rmdir()
    return EXIT_FOUND if written else EXIT_NOTHING_VALID


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    parser.add_argument("studies", metavar="STUDY", nargs="*", help="a study (default: all)")
    parser.add_argument(
        "--format",
        metavar="NAME",
        type=one_of("format", format_names),
        default="csv",
        help=f"{', '.join(format_names())} (default: %(default)s)",
    )
    add_storage_argument(parser)
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        default=Path("studies/exports"),
        help="the folder of the studies' folders (default: %(default)s)",
    )
    return parser.parse(argv)


if __name__ == "__main__":
    run_command(main, _PROG)
