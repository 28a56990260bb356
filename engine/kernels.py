"""List the kernels, or compare them at one shape: python -m engine.kernels [--shape M=1,...]"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.arguments.options import add_storage_argument
from engine.arguments.problem import (
    ALL_TYPES,
    add_device_argument,
    add_kernels_arguments,
)
from engine.study.location import DEFAULT_STORAGE
from foundation.command_line import (
    EXIT_FOUND,
    EXIT_NOTHING_VALID,
    ArgumentParser,
    invocation,
    run_command,
)
from foundation.console import EscapingConsole
from foundation.errors import UserError
from foundation.printing import say
from foundation.programs import python_command
from foundation.shapes import shape_text
from kernels.registry import declared, kernels_with, summary

if TYPE_CHECKING:
    from engine.winners.at_shape import AtShape

__all__ = ["main"]

_PROG = "engine.kernels"
_DESCRIPTION = (
    "Lists the kernels that come with this package. With --shape, it compares stored winners at "
    "this shape, the fastest first: operations and bytes per second, and how near the time comes "
    "to what an emulated board's arithmetic and memory allow."
)
_EPILOG = "Exit status: 0 if there is something to list, 1 if nothing is tuned at the shape."


def main(argv: Sequence[str] | None) -> int:
    """Run the command and return the exit status.

    Raises:
        UserError, BoardError: for a mistake in the arguments or an unreadable storage.
    """
    arguments = _parse(argv)
    if not arguments.shape:
        _list(arguments.kernels or kernels_with({}, arguments.dtype))
        return EXIT_FOUND
    # Triton and Optuna take seconds to import: the list does not wait for them.
    from engine.jobs.kernel_table import bound_lines, kernel_table
    from engine.winners.at_shape import limits_of_device, winners_at

    kernels = arguments.kernels or kernels_with(arguments.shape, arguments.dtype)
    limits = limits_of_device(arguments.device)
    rows = winners_at(
        kernels, arguments.shape, arguments.dtype, arguments.device, arguments.storage, limits
    )
    if any(row.found for row in rows):
        EscapingConsole().print(kernel_table(rows))
        for line in bound_lines(rows, limits):
            say(line)
        say(f"configuration of the first: {_find_command(rows[0], arguments)}")
    for line in _missing(rows, arguments):
        say(line)
    return EXIT_FOUND if any(row.found for row in rows) else EXIT_NOTHING_VALID


def _find_command(row: AtShape, arguments: argparse.Namespace) -> str:
    """What prints the row's configuration."""
    words = [row.problem.spec.load_name, "--shape", shape_text(row.problem.shape)]
    words += ["--dtype", row.problem.dtype, "--device", arguments.device]
    if arguments.storage != DEFAULT_STORAGE:
        words += ["--storage", arguments.storage]
    return f"{python_command('engine.find')} {shlex.join(words)}"


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    add_kernels_arguments(
        parser,
        kernels="names, or with --shape also files "
        "(default: all with just these sizes and this type)",
        shape="the sizes at which winners are compared (default: list the kernels)",
        dtype="element type, such as f32 (default: all of each kernel, the first of a file)",
    )
    add_device_argument(parser)
    add_storage_argument(parser)
    return parser.parse(argv)


def _list(kernels: Sequence[str]) -> None:
    """Print what each computes, with its sizes and types."""
    for name in kernels:
        sizes = declared(name)
        if sizes is None:
            raise UserError(f"{name} is not one of the kernels of this package: add --shape")
        say(f"{name}: {summary(name)}")
        say(f"    {shape_text(sizes.default_shape)}  {' '.join(sizes.dtypes)}")


def _missing(rows: Sequence[AtShape], arguments: argparse.Namespace) -> list[str]:
    """What has no winner at the shape, and the command that tunes all of that."""
    missing = [row.problem for row in rows if row.found is None]
    if not missing:
        return []
    types: dict[str, list[str]] = {}
    for problem in missing:
        types.setdefault(problem.spec.load_name, []).append(problem.dtype)
    listed = "; ".join(f"{name} in {', '.join(of)}" for name, of in types.items())
    words = ["--shape", shape_text(arguments.shape), "--dtype", arguments.dtype or ALL_TYPES]
    command = f"{python_command('engine.tune_all')} {shlex.join([*arguments.kernels, *words])}"
    lines = [f"not tuned at {shape_text(arguments.shape)} on {arguments.device}: {listed}"]
    if arguments.storage == DEFAULT_STORAGE:  # the command stores nowhere else
        lines.append(f"to tune: {command} --device {shlex.quote(arguments.device)}")
    return lines


if __name__ == "__main__":
    run_command(main, _PROG)
