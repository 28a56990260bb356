"""Tune a kernel: python -m engine.tune KERNEL [--shape M=256,...] [--trials 50] ..."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from engine.cli import (
    EXIT_FOUND,
    EXIT_NOTHING_VALID,
    ArgumentParser,
    add_device_argument,
    add_problem_arguments,
    host_and_port,
    positive_number,
    positive_whole_number,
    run_command,
    whole_number,
)
from engine.errors import UserError
from rvv_runner.board import BoardError
from rvv_runner.devices import boards_by_kind

if TYPE_CHECKING:
    from engine.tuning import TuningRequest, TuningResult

__all__ = ["add_search_arguments", "add_work_arguments", "main", "request_from"]

_PROG = "engine.tune"
_DESCRIPTION = "Looks for the quickest configuration of a kernel on a board."
_DEFAULT_TRIALS = 50
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
    if arguments.missing:
        return EXIT_FOUND if _tune_missing(arguments) else EXIT_NOTHING_VALID
    if arguments.kernel is None:
        raise UserError(f"KERNEL is missing: see `python -m {_PROG} --help`")
    found = all(result.summary.winner is not None for result in _tune(arguments))
    return EXIT_FOUND if found else EXIT_NOTHING_VALID


def _tune_missing(arguments: argparse.Namespace) -> bool:
    """Tune what ran untuned; whether nothing is left of that."""
    from engine.missing import Missing, work_off

    given = (arguments.kernel, arguments.shape, arguments.dtype, arguments.study)
    if any(given) or arguments.together:
        raise UserError(
            "--missing says what is tuned: leave KERNEL, --shape, --together, --dtype, --study out"
        )

    def tune_one(entry: Missing) -> bool | None:
        of_entry = {**vars(entry), "shape": [dict(entry.shape)], "device": (entry.device,)}
        (result,) = _tune(argparse.Namespace(**{**vars(arguments), **of_entry}))
        if result.ended.reason == "interrupted":
            return None
        return result.summary.winner is not None

    return work_off(tune_one)


def _tune(arguments: argparse.Namespace) -> list[TuningResult]:
    """Tune each shape on each kind of board and print what was found."""
    # Ray, Triton and Optuna take seconds to import: --help and mistyped names do not wait for them.
    from engine.progress import progress_on
    from engine.results.json import json_text, study_record
    from engine.results.table import print_result
    from engine.tuning import tune

    objectives = _objectives(arguments)
    quiet_stdout = arguments.json or sys.stdout.isatty()
    results: list[TuningResult] = []
    failures: list[BoardError] = []
    studies = _shapes_of_studies(arguments)
    for devices, shapes in itertools.product(_groups(arguments), studies):
        progress = progress_on(sys.stderr if quiet_stdout else sys.stdout)
        try:
            request = request_from(arguments, devices, *shapes, objectives=objectives)
            results.append(tune(request, [progress]))
        except BoardError as error:  # of this kind; the others may do better
            failures.append(error)
            continue
        if not arguments.json:
            print_result(results[-1], sys.stdout)
        if results[-1].ended.reason == "interrupted":
            break
    if arguments.json and results:
        records = [study_record(result) for result in results]
        one = len(studies) == 1 and not arguments.mixed
        print(json_text(records[0] if one else {"results": records}))
    if failures:
        raise failures[0]
    return results


def _shapes_of_studies(arguments: argparse.Namespace) -> list[list[Mapping[str, int]]]:
    """The shapes of each study.

    Raises:
        UserError: for one shape where one study of several was asked for.
    """
    shapes = arguments.shape or [{}]
    if not arguments.together:
        return [[shape] for shape in shapes]
    if len(shapes) == 1:
        raise UserError("--together is for several shapes: give --shape at least twice")
    return [shapes]


def _objectives(arguments: argparse.Namespace) -> tuple[str, ...]:
    """The names of what is to be made small.

    Raises:
        UserError: for several of them with what looks at the time alone.
    """
    from engine.samplers import sampler_named

    objectives = tuple(arguments.objective.split(","))
    sampler_named(arguments.sampler, len(objectives))
    if len(objectives) > 1 and arguments.until:
        raise UserError(
            f"--until {arguments.until} looks at the time alone: leave it out, or --objective"
        )
    if len(objectives) > 1 and arguments.together:
        raise UserError("--together looks at the time alone: leave it out, or --objective")
    return objectives


def _groups(arguments: argparse.Namespace) -> list[Sequence[str]]:
    """The names of the boards of each study.

    Raises:
        UserError: for boards of several kinds where one study was asked for.
        BoardError: for boards that cannot be used.
    """
    if arguments.mixed and arguments.study is not None:
        raise UserError("--mixed makes a study for each kind of board: leave --study out")
    if len(arguments.shape) > 1 and not arguments.together and arguments.study is not None:
        raise UserError("there is a study for each --shape: leave --study out, or add --together")
    if len(arguments.device) == 1:
        return [arguments.device]
    kinds = boards_by_kind(arguments.device)
    if len(kinds) > 1 and not arguments.mixed:
        listed = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in kinds.items())
        raise UserError(
            f"the boards are of different kinds ({listed}), whose times cannot be compared: "
            "name boards of one kind, or add --mixed for a result for each kind"
        )
    return list(kinds.values())


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(_PROG, _DESCRIPTION, _EPILOG)
    add_problem_arguments(parser, kernel_optional=True, several_shapes=True)
    add_device_argument(parser, several=True)
    parser.add_argument(
        "--missing",
        action="store_true",
        help="tune what ran untuned, as studies/missing.yaml lists it, in place of a KERNEL",
    )
    parser.add_argument(
        "--mixed",
        action="store_true",
        help="with boards of different kinds: one study and one result for each kind",
    )
    parser.add_argument(
        "--together",
        action="store_true",
        help="with several --shape: one study, for the configuration with the least geometric mean "
        "of the times at all of them",
    )
    add_search_arguments(parser)
    _add_study_arguments(parser)
    add_work_arguments(parser)
    return parser.parse_args(argv)


def add_search_arguments(parser: ArgumentParser) -> None:
    """The arguments that say how configurations are proposed, and how many."""
    add = parser.add_argument
    add(
        "--sampler",
        metavar="NAME",
        type=_sampler_name,
        default="auto",
        help="how configurations are proposed: auto, gp, tpe, cmaes, ga, grid, random, or the "
        "dotted name of a class such as optuna.samplers.NSGAIISampler (default: %(default)s)",
    )
    add(
        "--trials",
        metavar="N",
        type=positive_whole_number,
        help="configurations to try in the study, earlier runs included (default: "
        f"{_DEFAULT_TRIALS}, and with --until converged as many as it takes)",
    )
    add(
        "--until",
        choices=("converged",),
        help="stop once a model expects little more, before --trials and --timeout if it comes to "
        "that",
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
    add(
        "--objective",
        choices=("time_s", "time_s,code_bytes"),
        default="time_s",
        help="what is to be made small: the time, or time and code size (default: %(default)s)",
    )
    add(
        "--no-history",
        action="store_false",
        dest="use_history",
        help="begin a study without what the nearest earlier one of the kernel measured",
    )


def add_work_arguments(parser: ArgumentParser) -> None:
    """The arguments that say where builds are made, and how many at once."""
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


def _sampler_name(text: str) -> str:
    """The name of a sampler, for argparse.

    Raises:
        UserError: for one that means nothing.
    """
    from engine.samplers import sampler_named

    sampler_named(text)
    return text


def request_from(
    arguments: argparse.Namespace,
    devices: Sequence[str],
    shape: Mapping[str, int],
    *more_shapes: Mapping[str, int],
    objectives: tuple[str, ...] = ("time_s",),
) -> TuningRequest:
    """What these arguments ask for, of one study on boards of one kind."""
    from engine.tuning import TuningRequest

    return TuningRequest(
        kernel=arguments.kernel,
        shape=shape,
        dtype=arguments.dtype,
        devices=devices,
        sampler=arguments.sampler,
        trials=arguments.trials or (None if arguments.until else _DEFAULT_TRIALS),
        timeout_s=arguments.timeout,
        storage=arguments.storage,
        study=arguments.study,
        jobs=arguments.jobs,
        ray_address=arguments.ray_address,
        seed=arguments.seed,
        until_converged=arguments.until is not None,
        use_history=arguments.use_history,
        more_shapes=more_shapes,
        objectives=objectives,
    )


if __name__ == "__main__":
    run_command(main, _PROG)
