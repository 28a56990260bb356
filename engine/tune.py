"""Tune a kernel: python -m engine.tune KERNEL [--shape M=256,...] [--trials 50] ..."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.arguments.consumer import add_consumer_argument
from engine.arguments.options import (
    add_search_arguments,
    add_storage_argument,
    add_work_arguments,
    jobs_advice,
    objective_names,
)
from engine.arguments.problem import (
    add_device_argument,
    add_problem_arguments,
    add_space_argument,
)
from engine.arguments.program import check_program_options, only_group
from engine.arguments.requests import groups_of, request_of, requests_of
from engine.from_python import CallableModule
from engine.study.objectives import CODE_BYTES, TIME_S
from foundation.command_line import (
    EXIT_FOUND,
    EXIT_NOTHING_VALID,
    ArgumentParser,
    duration_s,
    invocation,
    run_command,
)
from foundation.errors import UserError
from foundation.printing import say
from kernels.captured.names import is_capture
from rvv_runner.board import BoardError

if TYPE_CHECKING:
    from engine.run.request import TuningRequest
    from engine.run.tuning import TuningResult

__all__ = ["main"]

_PROG = "engine.tune"
_DESCRIPTION = "Finds the fastest configuration of a kernel on a board."
_EPILOG = (
    "Run the same command again to resume the study, up to the number of trials. Exit status: 0 "
    "if there is a winner, 1 if no configuration was valid or the kernel is probably wrong, 2 for "
    "a mistake in the command."
)


def main(argv: Sequence[str] | None) -> int:
    """Run the command and return the exit status.

    Raises:
        UserError, BoardError: for a mistake in the arguments or a board that cannot be used.
    """
    arguments = _parse(argv)
    with jobs_advice(arguments):
        return EXIT_FOUND if _tune_asked(arguments) else EXIT_NOTHING_VALID


def _tune_asked(arguments: argparse.Namespace) -> bool:
    """Run the studies that the arguments ask for; return whether each succeeded."""
    if arguments.missing:
        return _tune_missing(arguments)
    if arguments.kernel is None:
        raise UserError(f"KERNEL is missing: see `{invocation(_PROG)} --help`")
    if is_capture(arguments.kernel):
        return _tune_program(arguments)
    if arguments.budget is not None:
        raise UserError("--budget is for a capture file: give --timeout in its place")
    if arguments.widen:
        raise UserError("--widen is for a capture file: a kernel's file lists what to try")
    requests = requests_of(arguments)
    results = _tune(
        requests,
        as_json=arguments.json,
        as_list=len(requests) > 1 or arguments.mixed,
        with_report=arguments.with_report,
    )
    return all(result.summary.succeeded for result in results)


def _tune_program(arguments: argparse.Namespace) -> bool:
    """Tune the tasks of a capture; return whether any has a winner.

    Raises:
        UserError: for options that are about a single study, or devices whose times differ.
    """
    start_s = time.monotonic()  # what is loaded counts
    check_program_options(arguments)
    devices = only_group(groups_of(arguments))
    request = dataclasses.replace(request_of(arguments), devices=devices)
    from engine.results.progress import LOADING, LineProgress

    LineProgress(sys.stderr)(LOADING)
    from engine.programs.budget import ProgramBudget
    from engine.programs.command import tune_capture

    budget = ProgramBudget(arguments.trials, arguments.budget, start_s)
    path, widens = Path(arguments.kernel), arguments.widen
    return tune_capture(path, request, budget, as_json=arguments.json, widens=widens)


def _tune_missing(arguments: argparse.Namespace) -> bool:
    """Tune the shapes that ran untuned; return whether none is left."""
    from engine.winners.missing import Missing, tune_missing

    given = (arguments.kernel, arguments.shape, arguments.dtype, arguments.study)
    if any(given) or arguments.together:
        raise UserError(
            "--missing selects what to tune: leave out KERNEL, --shape, --together, --dtype and "
            "--study"
        )
    request = request_of(arguments)

    def tune_one(entry: Missing) -> bool | None:
        of_entry = dataclasses.replace(
            request,
            kernel=entry.kernel,
            shapes=(dict(entry.shape),),
            dtype=entry.dtype,
            devices=(entry.device,),
        )
        (result,) = _tune(
            [of_entry], as_json=arguments.json, as_list=False, with_report=arguments.with_report
        )
        if result.ended.reason == "interrupted":
            return None
        return result.summary.succeeded

    return tune_missing(tune_one)


def _tune(
    requests: Sequence[TuningRequest], *, as_json: bool, as_list: bool, with_report: bool
) -> list[TuningResult]:
    """Run each study and print its result; `as_list` wraps the JSON objects in one."""
    from engine.results.progress import LOADING, progress_on

    stream = sys.stderr if as_json or sys.stdout.isatty() else sys.stdout
    with progress_on(stream) as progress:
        progress(LOADING)
        # --help and mistyped names do not wait for these imports.
        from engine.reports.of_run import report_run
        from engine.results.json import json_text, study_record
        from engine.results.table import print_result
        from engine.run.tuning import tune

    results: list[TuningResult] = []
    failures: list[BoardError] = []
    for request in requests:
        try:
            with progress_on(stream) as progress:
                results.append(tune(request, [progress]))
        except BoardError as error:  # boards of another kind may still work
            failures.append(error)
            continue
        if not as_json:
            print_result(results[-1], sys.stdout)
        if with_report and results[-1].ended.tried:  # else it would show nothing
            report_run(results[-1], sys.stderr if as_json else sys.stdout)
        if results[-1].ended.reason == "interrupted":
            break
    if as_json and results:
        records = [study_record(result) for result in results]
        say(json_text({"results": records} if as_list else records[0]))
    if failures:
        raise failures[0]
    return results


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    add_problem_arguments(parser, kernel_optional=True, several_shapes=True, captures=True)
    add_device_argument(parser, several=True)
    add_space_argument(parser)
    add_consumer_argument(parser)
    parser.add_argument(
        "--missing",
        action="store_true",
        help="instead of a KERNEL, tune the shapes that ran untuned: the list in "
        "studies/missing.yaml",
    )
    parser.add_argument(
        "--mixed",
        action="store_true",
        help="with boards of different kinds: one study and one result per kind",
    )
    parser.add_argument(
        "--together",
        action="store_true",
        help="with several --shape: one study, for the configuration with the lowest "
        "geometric-mean time over all shapes",
    )
    add_search_arguments(parser)
    _add_study_arguments(parser)
    add_work_arguments(parser)
    return parser.parse(argv)


def _add_study_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add_storage_argument(parser)
    add(
        "--budget",
        metavar="TIME",
        type=duration_s,
        help="for a capture file: time for all tasks, such as 30m or 2h, which includes "
        "comparing the leaders (default: 20 trials per task)",
    )
    add(
        "--widen",
        action="store_true",
        help="for a capture file: also try configurations that a kernel's autotuner does "
        "not list, in this run and later ones",
    )
    add(
        "--study",
        metavar="NAME",
        help="name of the study (default: made from the problem)",
    )
    add(
        "--objective",
        metavar="NAMES",
        type=objective_names,
        default=(TIME_S,),
        help=f"objectives to minimise: {TIME_S}, or {TIME_S},{CODE_BYTES} for the Pareto front of "
        f"time and code size (default: {TIME_S})",
    )
    add(
        "--no-history",
        action="store_false",
        dest="use_history",
        help="do not warm-start a new study from the nearest earlier one of the kernel or a sister",
    )
    add(
        "--no-report",
        action="store_false",
        dest="with_report",
        help="do not write the page that shows the study, reports/STUDY.html beside the storage",
    )


# From Python this module is called, as `engine.tune(...)`.
sys.modules[__name__].__class__ = CallableModule

if __name__ == "__main__":
    run_command(main, _PROG)
