"""The arguments of a search, of its storage and of its builds, and the options they stand for."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator

from engine.run.request import (
    DEFAULT_TRIALS,
    SearchOptions,
    StudyOptions,
    TuningRequest,
    WorkOptions,
)
from engine.study.location import DEFAULT_STORAGE
from foundation.command_line import (
    ArgumentParser,
    host_and_port,
    positive_number,
    positive_whole_number,
    whole_number,
)
from foundation.errors import TooBusyError
from kernels.spec import Problem

__all__ = [
    "SAMPLER_NAMES",
    "add_search_arguments",
    "add_storage_argument",
    "add_work_arguments",
    "jobs_advice",
    "request_for",
    "search_options",
    "work_options",
]

# Those of `engine.search.samplers.registry`, which takes a second to import.
SAMPLER_NAMES = ("auto", "gp", "tpe", "cmaes", "ga", "spread", "grid", "random")


def add_search_arguments(parser: ArgumentParser) -> None:
    """The arguments that say how configurations are proposed, and how many."""
    add = parser.add_argument
    add(
        "--sampler",
        metavar="NAME",
        type=_sampler_name,
        default="auto",
        help=f"how configurations are proposed: {', '.join(SAMPLER_NAMES)}, or "
        "the dotted name of a class such as optuna.samplers.NSGAIISampler (default: %(default)s)",
    )
    add(
        "--trials",
        metavar="N",
        type=positive_whole_number,
        help="configurations to try in the study, earlier runs included (default: "
        f"{DEFAULT_TRIALS}; with --until converged every valid one)",
    )
    add(
        "--until",
        choices=("converged",),
        help="stop when the surrogate predicts no further improvement, unless --trials or "
        "--timeout end the run first",
    )
    add(
        "--timeout",
        metavar="S",
        type=positive_number,
        help="start no new trials after S seconds",
    )
    add(
        "--seed",
        metavar="N",
        type=whole_number,
        default=0,
        help="seed of the sampler (default: %(default)s)",
    )


def search_options(arguments: argparse.Namespace) -> SearchOptions:
    """What the arguments of `add_search_arguments` stand for."""
    return SearchOptions(
        sampler=arguments.sampler,
        trials=arguments.trials or (None if arguments.until else DEFAULT_TRIALS),
        timeout_s=arguments.timeout,
        seed=arguments.seed,
        until_converged=arguments.until is not None,
    )


def add_storage_argument(parser: ArgumentParser) -> None:
    """The argument that says where studies are stored."""
    parser.add_argument(
        "--storage",
        metavar="URL",
        default=DEFAULT_STORAGE,
        help="a journal file or an Optuna storage URL (default: %(default)s)",
    )


def add_work_arguments(parser: ArgumentParser) -> None:
    """The arguments that say where configurations are built, and how many at once."""
    add = parser.add_argument
    add(
        "--jobs",
        metavar="N",
        type=positive_whole_number,
        default=len(os.sched_getaffinity(0)),
        help="builds at once (default: one per core)",
    )
    add(
        "--ray-address",
        metavar="HOST:PORT",
        type=host_and_port,
        help="build on this Ray cluster, whose nodes share the current folder",
    )


@contextlib.contextmanager
def jobs_advice(arguments: argparse.Namespace) -> Iterator[None]:
    """Within the block, workers that this machine is too busy for are an error that names --jobs.

    Args:
        arguments: with those of `add_work_arguments`.

    Raises:
        TooBusyError: in place of the block's.
    """
    try:
        yield
    except TooBusyError as error:
        if arguments.jobs == 1:
            raise
        raise TooBusyError(f"{error}, or give --jobs a smaller number") from error


def work_options(arguments: argparse.Namespace) -> WorkOptions:
    """What the arguments of `add_work_arguments` stand for."""
    return WorkOptions(jobs=arguments.jobs, ray_address=arguments.ray_address)


def request_for(problem: Problem, arguments: argparse.Namespace) -> TuningRequest:
    """A study of one problem with the options of the three groups above."""
    return TuningRequest(
        kernel=problem.spec.load_name,
        shapes=(problem.shape,),
        dtype=problem.dtype,
        devices=(arguments.device,),
        search=search_options(arguments),
        study=StudyOptions(arguments.storage),
        work=work_options(arguments),
    )


def _sampler_name(text: str) -> str:
    """The name of a sampler, for argparse.

    Raises:
        UserError: for a name that means nothing.
    """
    if text in SAMPLER_NAMES:
        return text
    # Optuna takes a while to import: what is spelt right does not wait for it.
    from engine.search.samplers.registry import sampler_named

    sampler_named(text)
    return text
