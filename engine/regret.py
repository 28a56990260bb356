"""What it costs to run one board's winner on another: python -m engine.regret KERNEL ..."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.arguments.options import add_storage_argument
from engine.arguments.problem import add_device_argument, kernel_name
from foundation.command_line import EXIT_FOUND, ArgumentParser, invocation, run_command
from foundation.errors import UserError
from foundation.printing import say
from foundation.writable import check_writable
from rvv_runner.devices import is_emulated

if TYPE_CHECKING:
    from engine.regrets.times import BoardTimes

__all__ = ["main"]

_PROG = "engine.regret"
_DESCRIPTION = (
    "Runs the winner of each board's study on each other board, and finds the configuration that "
    "loses least over all of them. Of one emulated board, it compares the models of its family."
)
_EPILOG = "Exit status: 0 if the table was written, 2 for a mistake in the command."


def main(argv: Sequence[str] | None) -> int:
    """Run the command and return the exit status.

    Raises:
        UserError, BoardError: for a mistake in the arguments, or a board that cannot be used.
    """
    arguments = _parse(argv)
    compares_models = len(arguments.device) == 1 and is_emulated(arguments.device[0])
    if len(set(arguments.device)) < 2 and not compares_models:
        raise UserError("regret compares boards: give several with --device NAME,NAME")
    check_writable(arguments.out)
    all_times = _times(arguments)
    # Plotly's script is large, and mistyped names do not wait for it.
    from engine.regrets.written import least_lines, regret_table, write_csv, write_picture
    from foundation.console import EscapingConsole

    for times in all_times:
        EscapingConsole().print(regret_table(times))
        for line in least_lines(times):
            say(line)
    try:
        arguments.out.mkdir(parents=True, exist_ok=True)
        write_csv(all_times, arguments.out / "regret.csv")
        write_picture(all_times, arguments.out / "regret.html")
    except OSError as error:
        raise UserError(
            f"{arguments.out} cannot be written ({error.strerror}): give another with --out"
        ) from error
    say(f"written: {arguments.out / 'regret.csv'}, {arguments.out / 'regret.html'}")
    return EXIT_FOUND


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    parser.add_argument(
        "kernels",
        metavar="KERNEL",
        nargs="+",
        type=kernel_name,
        help="whose studies to read, at every shape that was tuned on each of the boards",
    )
    parser.add_argument(
        "--dtype", metavar="TYPE", help="element type (default: the kernel's first)"
    )
    add_device_argument(parser, several=True)
    add_storage_argument(parser)
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        default=Path("studies/regret"),
        help="folder of regret.csv and regret.html (default: %(default)s)",
    )
    return parser.parse(argv)


def _times(arguments: argparse.Namespace) -> list[BoardTimes]:
    from engine.regrets.measured import board_times, is_complete, model_times, problems_of
    from engine.results.progress import LOADING, progress_on
    from engine.workers.ray_session import ray_session

    with progress_on(sys.stderr) as tell:
        tell(LOADING)
        found = [
            each
            for kernel in arguments.kernels
            for each in problems_of(kernel, arguments.device, arguments.dtype, arguments.storage)
        ]
        if len(set(arguments.device)) == 1:
            return [model_times(problem, *winners.values()) for problem, winners in found]
        # Ray takes seconds to start, and is only needed for what no study holds.
        complete = all(is_complete(winners) for _, winners in found)
        with contextlib.nullcontext() if complete else ray_session(1):
            return [board_times(problem, winners, tell) for problem, winners in found]


if __name__ == "__main__":
    run_command(main, _PROG)
