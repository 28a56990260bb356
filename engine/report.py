"""Show a study, or compare two, as one HTML page: python -m engine.report STUDY [STUDY2]"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.arguments.options import add_storage_argument, add_study_argument, completes_studies
from engine.arguments.problem import add_own_kernel_argument
from foundation.command_line import EXIT_FOUND, ArgumentParser, invocation, run_command
from foundation.printing import say
from foundation.writable import check_writable

__all__ = ["main"]

_PROG = "engine.report"
_DESCRIPTION = (
    "Writes one HTML page that needs no network: the winner against the default, on an emulated "
    "board where the cycles of both go, convergence, which parameters matter, the leaders, "
    "failures, and every trial. With two studies, also what it costs to exchange their winners."
)
_EPILOG = "Exit status: 0 if the page was written, 2 for a mistake in the command."


def main(argv: Sequence[str] | None) -> int:
    """Run the command and return the exit status.

    Raises:
        UserError: for a mistake in the arguments, an unreadable storage or an unwritable file.
    """
    arguments = _parse(argv)
    if arguments.out is not None:
        check_writable(arguments.out.parent)
    # Optuna takes seconds to import: --help does not wait for it.
    from engine.reports.explanation import explained_or_kept
    from engine.reports.written import report_path, write_report
    from engine.study.storage import study_named
    from foundation.errors import UserError

    asked = [arguments.study] if arguments.other is None else [arguments.study, arguments.other]
    studies = [study_named(arguments.storage, name) for name in asked]
    names = [study.study_name for study in studies]
    path = arguments.out or report_path(arguments.storage, names)
    try:
        explanation = explained_or_kept(arguments.kernel, _note)
        write_report(studies, path, explanation, alone=arguments.out is not None)
    except OSError as error:
        raise UserError(
            f"{path} cannot be written ({error.strerror}): give another with --out"
        ) from error
    say(str(path))
    return EXIT_FOUND


def _note(sentence: str) -> None:
    say(f"note: {sentence}", file=sys.stderr)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    add_study_argument(parser)
    add = parser.add_argument
    completes_studies(add("other", metavar="STUDY2", nargs="?", help="a study to compare it with"))
    add_storage_argument(parser)
    add_own_kernel_argument(parser)
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        help="the page, with all that it needs (default: reports/STUDY.html beside the storage; "
        "pages there share the file that draws their charts)",
    )
    return parser.parse(argv)


if __name__ == "__main__":
    run_command(main, _PROG)
