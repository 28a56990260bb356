"""Look up a stored winner: python -m engine.find KERNEL [--shape M=256,...] [--device NAME]"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.arguments.options import add_storage_argument
from engine.arguments.problem import add_device_argument, add_problem_arguments
from engine.study.location import shown_storage, storage_file
from foundation.command_line import (
    EXIT_FOUND,
    EXIT_NOTHING_VALID,
    ArgumentParser,
    invocation,
    percentage,
    run_command,
)
from foundation.errors import UserError
from foundation.printing import say
from kernels.captured.names import is_capture

if TYPE_CHECKING:
    from engine.winners.lookup import Found, NotTunedError

__all__ = ["main"]

_PROG = "engine.find"
_DESCRIPTION = (
    "Prints the stored winner for a shape, how it was found, and how far away it was tuned. For a "
    "capture file, it prints the winners and the command that runs the program with them."
)
_EPILOG = (
    "Exit status: 0 if there is a winner, 1 if not or if its kernel is probably wrong, 2 for a "
    "mistake in the command."
)


def main(argv: Sequence[str] | None) -> int:
    """Run the command and return the exit status.

    Raises:
        UserError, BoardError: for a mistake in the arguments or an unreadable storage.
    """
    arguments = _parse(argv)
    if is_capture(arguments.kernel):
        return _find_in_capture(arguments)
    # Triton and Optuna take seconds to import: --help and mistyped names do not wait for them.
    from engine.results.json import json_text
    from engine.winners.lookup import NotTunedError, lookup

    try:
        found = lookup(
            arguments.kernel,
            dtype=arguments.dtype,
            device=arguments.device,
            storage=arguments.storage,
            max_key_cost=arguments.max_key_cost,
            **arguments.shape,
        )
    except NotTunedError as error:
        reason = _why_none(error, arguments.storage)
        say(json_text({"config": None, "reason": reason}) if arguments.json else reason)
        return EXIT_NOTHING_VALID
    say(json_text(_record(found)) if arguments.json else _report(found))
    if arguments.autotune_cache:
        from engine.winners.autotune_cache import write_autotune_cache

        _, path = write_autotune_cache(
            arguments.kernel,
            arguments.shape,
            dtype=arguments.dtype,
            device=arguments.device,
            storage=arguments.storage,
        )
        say(f"autotune cache: {path}", file=sys.stderr)
    return EXIT_NOTHING_VALID if found.winner.probably_wrong else EXIT_FOUND


def _find_in_capture(arguments: argparse.Namespace) -> int:
    """Print the winners in the file of a capture, and how to use them.

    Raises:
        UserError: for options of a single kernel.
    """
    if arguments.autotune_cache:
        raise UserError(
            "--autotune-cache is for a kernel's file; for a capture's winners, leave it out and "
            f"start the program with `rvv-tune run --with {shlex.quote(arguments.kernel)} -- ...`"
        )
    if arguments.shape or arguments.dtype:
        raise UserError(
            "the tasks of a capture have their own shapes and types: leave out --shape and --dtype"
        )
    from engine.programs.found import winner_records, winners_text
    from engine.results.json import json_text

    capture = Path(arguments.kernel)
    records = winner_records(capture, arguments.device)
    if arguments.json:
        say(json_text({"winners": records}))
    else:
        say(winners_text(capture, arguments.device))
    return EXIT_FOUND if records else EXIT_NOTHING_VALID


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    add_problem_arguments(parser, captures=True)
    add_device_argument(parser)
    add_storage_argument(parser)
    parser.add_argument(
        "--max-key-cost",
        metavar="PERCENT",
        type=percentage,
        default="5",
        help="use the power-of-two key only if it costs at most this (default: %(default)s)",
    )
    parser.add_argument(
        "--autotune-cache",
        action="store_true",
        help="also write the winner where @triton.autotune finds it, below TRITON_CACHE_DIR, for "
        "a program that sets TRITON_CACHE_AUTOTUNING=1",
    )
    return parser.parse(argv)


def _why_none(error: NotTunedError, storage: str) -> str:
    """Why there is no winner; first of all, if the storage is not there."""
    file = storage_file(storage)
    missing = file is not None and not file.exists()
    return f"there is no storage {shown_storage(storage)}; {error}" if missing else str(error)


def _report(found: Found) -> str:
    checks = (f"check: {cost}" for cost in found.key_costs)
    return "\n".join([str(found), *checks, f"study: {found.winner.study}"])


def _record(found: Found) -> dict[str, object]:
    winner = found.winner
    return {
        "config": dict(found.config),
        "how": found.how,
        "shape": dict(found.wanted.shape),
        "tuned_shape": dict(winner.shape),
        "distance_doublings": found.distance,
        "differs": list(found.differs),
        "key_rejected": found.key_rejected or None,
        "key_costs": [
            {
                "shape": dict(cost.shape),
                "key": dict(cost.key),
                "cost": cost.cost,
                "trials": cost.trials,
                "estimated": cost.estimated,
            }
            for cost in found.key_costs
        ],
        "advice": winner.advice,
        "tuned_time_s": winner.time_s,
        "estimated": winner.estimated,
        "device": winner.device,
        "tuned_on_other_cores": found.other_cores,
        "study": winner.study,
        "elf_sha256": winner.elf_sha256,
    }


if __name__ == "__main__":
    run_command(main, _PROG)
