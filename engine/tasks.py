"""List the kernels that a program launched: python -m engine.tasks FILE [--html PAGE]"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.results.atomic_file import write_text_file
from foundation.command_line import (
    EXIT_FOUND,
    EXIT_NOTHING_VALID,
    ArgumentParser,
    invocation,
    run_command,
)
from foundation.printing import say, wrapped

__all__ = ["main"]

_PROG = "engine.tasks"
_DESCRIPTION = (
    "Lists what a capture recorded, by share of the program's time: kernel, sizes, types, "
    "launches, and the configuration that the program launched."
)
_WIDTH_OF_PIPES = 500  # characters
_EPILOG = "Exit status: 0 if there are tasks, 1 if not, 2 for a mistake in the command."


def main(argv: Sequence[str] | None) -> int:
    """Run the command and return the exit status.

    Raises:
        UserError: for a mistake in the arguments, a file that is no capture, or a page that cannot
            be written.
    """
    arguments = _parse(argv)
    from kernels.captured.task_file import read_capture

    captured = read_capture(arguments.file)
    # torch takes seconds to import: --help and a mistyped file do not wait for it.
    from engine.programs.program_share import share_text
    from engine.programs.spaces import spaces_in
    from engine.programs.task_list import task_list
    from engine.programs.task_page import task_page
    from engine.programs.task_table import coverage_text, mark_texts, note_texts, task_rows
    from foundation.console import EscapingConsole

    rows = task_rows(captured, spaces_in(arguments.file))
    if arguments.html is not None:
        write_text_file(arguments.html, task_page(captured, rows))
        say(str(arguments.html))
    else:
        console = EscapingConsole(width=None if sys.stdout.isatty() else _WIDTH_OF_PIPES)
        console.print(task_list(rows, console))
        for keys, note in note_texts(rows):
            say(wrapped(f"{keys} {note}", len(keys.partition(",")[0]) + 1))
        lines = [*mark_texts(rows), coverage_text(rows), share_text(captured)]
        for line in filter(None, lines):
            say(wrapped(line))
    return EXIT_FOUND if rows else EXIT_NOTHING_VALID


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    parser.add_argument("file", metavar="FILE", type=Path, help="a capture file")
    parser.add_argument(
        "--html", metavar="PAGE", type=Path, help="write an HTML page in place of the table"
    )
    return parser.parse(argv)


if __name__ == "__main__":
    run_command(main, _PROG)
