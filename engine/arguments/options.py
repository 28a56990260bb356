"""The arguments of a search, its storage and its builds, and the options that they set."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator

from engine.run.request import (
    DEFAULT_TRIALS,
    SearchOptions,
    StudyOptions,
    TuningRequest,
    WorkOptions,
)
from engine.study.journal_start import check_storage
from engine.study.location import DEFAULT_STORAGE
from engine.study.objectives import CODE_BYTES, TIME_S
from engine.study.stored_names import stored_names
from foundation.command_line import (
    ArgumentParser,
    host_and_port,
    natural_number,
    positive_integer,
    positive_number,
)
from foundation.completion import completes, completes_by
from foundation.errors import TooBusyError
from foundation.processors import cores
from kernels.spec import Problem

__all__ = [
    "SAMPLER_NAMES",
    "add_jobs_argument",
    "add_search_arguments",
    "add_storage_argument",
    "add_study_argument",
    "add_work_arguments",
    "completes_studies",
    "jobs_advice",
    "objective_names",
    "request_for",
    "sampler_name",
    "search_options",
    "work_options",
]

# The names in engine.search.samplers.registry, repeated since --help must not import Optuna.
SAMPLER_NAMES = ("auto", "gp", "tpe", "cmaes", "ga", "spread", "grid", "random")

_OBJECTIVES = ((TIME_S,), (TIME_S, CODE_BYTES))


def add_search_arguments(parser: ArgumentParser) -> None:
    """Add the arguments for how configurations are proposed, and how many."""
    add = parser.add_argument
    sampler = add(
        "--sampler",
        metavar="NAME",
        type=sampler_name,
        default="auto",
        help=f"how configurations are proposed: {', '.join(SAMPLER_NAMES)}, or the dotted name of "
        "a class such as optuna.samplers.NSGAIISampler (default: %(default)s)",
    )
    completes(sampler, lambda: SAMPLER_NAMES)
    add(
        "--trials",
        metavar="N",
        type=positive_integer,
        help="configurations to try in the study, earlier runs included (default: "
        f"{DEFAULT_TRIALS}; with --until converged, every valid one); of a capture, of all its "
        "tasks together (default: 20 for each)",
    )
    add(
        "--until",
        choices=("converged",),
        help="stop when the surrogate predicts no further improvement, unless --trials or "
        "--timeout ends the run first",
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
        type=natural_number,
        default=0,
        help="seed of the sampler (default: %(default)s)",
    )
    add(
        "--robust",
        nargs="?",
        const="mean",
        choices=("mean", "worst", "off"),
        help="what to minimise on an emulated board: the weighted mean loss over all models of the "
        "board, in which the worst counts three times, the worst loss, or (off) the time under the "
        "default model alone (default: mean, or what the study minimised before)",
    )


def search_options(arguments: argparse.Namespace) -> SearchOptions:
    """The options from the arguments of `add_search_arguments`."""
    return SearchOptions(
        sampler=arguments.sampler,
        trials=arguments.trials or (None if arguments.until else DEFAULT_TRIALS),
        timeout_s=arguments.timeout,
        seed=arguments.seed,
        until_converged=arguments.until is not None,
    )


def add_storage_argument(parser: ArgumentParser) -> None:
    """Add the argument for where studies are stored."""
    parser.add_argument(
        "--storage",
        metavar="URL",
        default=DEFAULT_STORAGE,
        help="a journal file or an Optuna storage URL (default: %(default)s)",
    )
    parser.finish_with(lambda arguments: check_storage(arguments.storage))


def add_study_argument(parser: ArgumentParser) -> None:
    """Add the argument for one study; left out, `study_named` lists them in its sentence."""
    text = "name of a study, or a part that no other has; without one, the message lists them"
    completes_studies(parser.add_argument("study", metavar="STUDY", nargs="?", help=text))


def completes_studies(action: argparse.Action) -> None:
    """Offer the names of the studies in --storage as completions of an argument."""
    completes_by(action, lambda parsed: stored_names(getattr(parsed, "storage", DEFAULT_STORAGE)))


def add_jobs_argument(parser: ArgumentParser) -> None:
    """Add the argument for how many configurations are built in parallel."""
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=positive_integer,
        default=cores(),
        help="parallel builds (default: one per core)",
    )


def add_work_arguments(parser: ArgumentParser) -> None:
    """Add the arguments for where configurations are built, and how many in parallel."""
    add_jobs_argument(parser)
    parser.add_argument(
        "--ray-address",
        metavar="HOST:PORT",
        type=host_and_port,
        help="build on this Ray cluster; its machines need not share a file system",
    )


@contextlib.contextmanager
def jobs_advice(arguments: argparse.Namespace) -> Iterator[None]:
    """Within the block, if this machine is too busy to start workers, the error names --jobs.

    Args:
        arguments: include those of `add_work_arguments`.

    Raises:
        TooBusyError: the block's, with the advice.
    """
    try:
        yield
    except TooBusyError as error:
        if arguments.jobs == 1:
            raise
        raise TooBusyError(f"{error}, or give a smaller --jobs") from error


def work_options(arguments: argparse.Namespace) -> WorkOptions:
    """The options from the arguments of `add_work_arguments`."""
    return WorkOptions(jobs=arguments.jobs, ray_address=arguments.ray_address)


def request_for(problem: Problem, arguments: argparse.Namespace) -> TuningRequest:
    """The request for a study of one problem, with the options of the three groups above."""
    return TuningRequest(
        kernel=problem.spec.load_name,
        shapes=(problem.shape,),
        dtype=problem.dtype,
        devices=(arguments.device,),
        space=problem.space_name,
        search=search_options(arguments),
        study=StudyOptions(arguments.storage, robust=arguments.robust),
        work=work_options(arguments),
    )


def objective_names(text: str) -> tuple[str, ...]:
    """The objectives in "time_s,code_bytes", for argparse.

    Raises:
        argparse.ArgumentTypeError: for any others.
    """
    names = tuple(name.strip() for name in text.split(","))
    if names not in _OBJECTIVES:
        known = " or ".join(",".join(names) for names in _OBJECTIVES)
        raise argparse.ArgumentTypeError(f"there is no objective {text}: give {known}")
    return names


def sampler_name(text: str) -> str:
    """The name of a sampler, for argparse.

    Raises:
        UserError: for an unknown name.
    """
    if text in SAMPLER_NAMES:
        return text
    # Optuna takes a while to import: known names do not wait for it.
    from engine.search.samplers.registry import sampler_named

    sampler_named(text)
    return text
