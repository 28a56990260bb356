"""Tune a kernel: python -m engine.tune KERNEL [--shape M=256,...] [--trials 50] ..."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.cli import (
    EXIT_FOUND,
    EXIT_NOTHING_VALID,
    ArgumentParser,
    add_problem_arguments,
    host_and_port,
    one_of,
    positive_number,
    positive_whole_number,
    run_command,
    whole_number,
)

if TYPE_CHECKING:
    from engine.tuning import TuningRequest

__all__ = ["main"]

_PROG = "engine.tune"
_DESCRIPTION = "Looks for the quickest configuration of a kernel on a board."
_EPILOG = (
    "The same command again goes on with its study up to the number of trials. Exit status: 0 with "
    "a winner, 1 where no configuration was valid, 2 for a mistake in the command."
)


def main(argv: Sequence[str] | None) -> int:
    """Run the command; the exit status.

    Raises:
        UserError, BoardError: for a mistake in the arguments or a board that cannot be used.
    """
    arguments = _parse(argv)
    return EXIT_FOUND if _tune(arguments) else EXIT_NOTHING_VALID


def _tune(arguments: argparse.Namespace) -> bool:
    """Tune and print what was found; whether that was anything."""
    # Ray, Triton and Optuna take seconds to import: --help and mistyped names do not wait for them.
    from engine.progress import progress_on
    from engine.results.json import json_text, study_record
    from engine.results.table import print_result
    from engine.tuning import tune

    quiet_stdout = arguments.json or sys.stdout.isatty()
    progress = progress_on(sys.stderr if quiet_stdout else sys.stdout)
    result = tune(_request(arguments), [progress])
    if arguments.json:
        print(json_text(study_record(result)))
    else:
        print_result(result, sys.stdout)
    return result.summary.winner is not None


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(_PROG, _DESCRIPTION, _EPILOG)
    add_problem_arguments(parser)
    _add_search_arguments(parser)
    _add_study_arguments(parser)
    _add_work_arguments(parser)
    return parser.parse_args(argv)


def _add_search_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--sampler",
        metavar="NAME",
        type=one_of("sampler", _sampler_names),
        default="auto",
        help="how configurations are proposed: auto, gp, tpe, ga, grid or random "
        "(default: %(default)s)",
    )
    add(
        "--trials",
        metavar="N",
        type=positive_whole_number,
        default=50,
        help="configurations to try in the study, earlier runs included (default: %(default)s)",
    )
    add(
        "--timeout",
        metavar="S",
        type=positive_number,
        help="start nothing new after so many seconds",
    )
    add(
        "--seed",
        metavar="N",
        type=whole_number,
        default=0,
        help="of the sampler (default: %(default)s)",
    )


def _add_study_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--storage",
        metavar="URL",
        help="a journal file or one of Optuna's URLs (default: studies/tuner.journal)",
    )
    add("--study", metavar="NAME", help="name of the study (default: made from the problem)")


def _add_work_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--jobs",
        metavar="N",
        type=positive_whole_number,
        default=len(os.sched_getaffinity(0)),
        help="builds at once (default: one a core)",
    )
    add(
        "--ray-address",
        metavar="HOST:PORT",
        type=host_and_port,
        help="build on this Ray cluster, whose nodes share the current folder",
    )


def _sampler_names() -> list[str]:
    from engine.samplers import SAMPLERS

    return sorted(SAMPLERS)


def _request(arguments: argparse.Namespace) -> TuningRequest:
    from engine.tuning import TuningRequest

    return TuningRequest(
        kernel=arguments.kernel,
        shape=arguments.shape,
        dtype=arguments.dtype,
        device=arguments.device,
        sampler=arguments.sampler,
        trials=arguments.trials,
        timeout_s=arguments.timeout,
        storage=arguments.storage,
        study=arguments.study,
        jobs=arguments.jobs,
        ray_address=arguments.ray_address,
        seed=arguments.seed,
    )


if __name__ == "__main__":
    run_command(main, _PROG)
