"""Run a program with its winners: python -m engine.apply --with FILE -- python program.py"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.programs.applied import CallableApply, compare_program, run_program
from engine.programs.watched import end_like
from foundation.command_line import ArgumentParser, invocation, run_command

__all__ = ["main"]

_PROG = "engine.apply"
_DESCRIPTION = (
    "Runs a program, unchanged, with the winners that tuning stored in a capture file. A kernel "
    "whose source has changed runs as the program has it."
)
_EPILOG = "Exit status: that of the program; 2 for a mistake in the command."


def main(argv: Sequence[str] | None) -> int:
    """Run the command and return the program's exit status.

    Raises:
        UserError: for a mistake in the arguments, or a file without winners.
    """
    arguments = _parse(argv)
    run = compare_program if arguments.compare else run_program
    return end_like(run(arguments.program, arguments.file))


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    parser.add_argument(
        "--with",
        dest="file",
        metavar="FILE",
        type=Path,
        required=True,
        help="a tuned capture file",
    )
    parser.add_argument(
        "--compare",
        action="store_true",
        help="run the program without and with winners in turns, and print the speed-up",
    )
    parser.add_argument(
        "program",
        metavar="-- PROGRAM ...",
        nargs=argparse.REMAINDER,
        help="the program and its arguments, such as: -- python program.py",
    )
    return parser.parse(argv)


# From Python this module is called, as `with engine.apply("file"):`.
sys.modules[__name__].__class__ = CallableApply

if __name__ == "__main__":
    run_command(main, _PROG)
