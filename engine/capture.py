"""Record a program's Triton kernels: python -m engine.capture [-o FILE] -- python program.py"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.programs.captured import CallableCapture, capture_program
from engine.programs.watched import end_like
from foundation.command_line import ArgumentParser, invocation, run_command

__all__ = ["main"]

_PROG = "engine.capture"
_DESCRIPTION = (
    "Runs a program, unchanged, and records each Triton kernel that it launches: its source, "
    "arguments, number of launches and times. Without a GPU, kernels run on this machine's CPU."
)
_EPILOG = "Exit status: that of the program; 2 for a mistake in the command."


def main(argv: Sequence[str] | None) -> int:
    """Run the command and return the program's exit status.

    Raises:
        UserError: for a mistake in the arguments, or a file that cannot be written.
    """
    arguments = _parse(argv)
    status = capture_program(arguments.program, arguments.out, keep_data=arguments.keep_data)
    return end_like(status)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    parser.add_argument(
        "-o",
        "--out",
        metavar="FILE",
        type=Path,
        help="the capture file (default: program.capture for program.py)",
    )
    parser.add_argument(
        "--keep-data",
        action="store_true",
        help="store large tensors in full, not only the distribution of their values",
    )
    parser.add_argument(
        "program",
        metavar="-- PROGRAM ...",
        nargs=argparse.REMAINDER,
        help="the program and its arguments, such as: -- python program.py",
    )
    return parser.parse(argv)


# From Python this module is called, as `with engine.capture("file"):`.
sys.modules[__name__].__class__ = CallableCapture

if __name__ == "__main__":
    run_command(main, _PROG)
