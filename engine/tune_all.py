"""Tune every kernel at its default shape: python -m engine.tune_all [KERNEL ...] [--trials 10]"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.arguments.problem import (
    ALL_TYPES,
    add_device_argument,
    add_kernels_arguments,
)
from engine.workers.devices import cores_of
from foundation.command_line import (
    EXIT_FOUND,
    EXIT_NOTHING_VALID,
    ArgumentParser,
    invocation,
    positive_integer,
    run_command,
)
from foundation.printing import say
from kernels.registry import declared, kernels_with
from rvv_runner.usage import cores_text

if TYPE_CHECKING:
    from engine.run.tuning import TuningResult

__all__ = ["main"]

_PROG = "engine.tune_all"
_DESCRIPTION = "Tunes one kernel after another and prints a table of the speed-ups."
_EPILOG = (
    "Exit status: 0 if every kernel has a winner, 1 if any has none, 2 for a mistake in the "
    "command."
)


def main(argv: Sequence[str] | None) -> int:
    """Run the command and return the exit status.

    Raises:
        UserError, BoardError: for a mistake in the arguments or a board that cannot be used.
    """
    arguments = _parse(argv)
    results = _tune_each(arguments)
    say(_table(results))
    complete = len(results) == len(_studies(arguments))
    found = complete and all(result.summary.succeeded for result in results)
    return EXIT_FOUND if found else EXIT_NOTHING_VALID


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    add_kernels_arguments(
        parser,
        kernels="names or files (default: every kernel with just the given sizes and type)",
        shape="the sizes to tune at (default: each kernel's own)",
        dtype="element type, such as f32; all: each of a kernel, a file's first (default: first)",
    )
    parser.add_argument(
        "--trials",
        metavar="N",
        type=positive_integer,
        default=10,
        help="configurations to try per kernel, earlier runs included (default: %(default)s)",
    )
    add_device_argument(parser, several=True)
    return parser.parse(argv)


def _studies(arguments: argparse.Namespace) -> list[tuple[str, str | None, list[str]]]:
    """Each kernel and element type with the boards of one number of cores."""
    boards: dict[int | None, list[str]] = {}
    for name in arguments.device if isinstance(arguments.device, tuple) else (arguments.device,):
        boards.setdefault(cores_of(name), []).append(name)
    dtype = None if arguments.dtype == ALL_TYPES else arguments.dtype
    return [
        (kernel, dtype, devices)
        for kernel in arguments.kernels or kernels_with(arguments.shape, dtype)
        for dtype in _dtypes(kernel, arguments.dtype)
        for devices in boards.values()
    ]


def _dtypes(kernel: str, asked: str | None) -> Sequence[str | None]:
    """The element types to tune a kernel in; None for its first."""
    if asked != ALL_TYPES:
        return [asked]
    sizes = declared(kernel)
    return [None] if sizes is None else sizes.dtypes


def _tune_each(arguments: argparse.Namespace) -> list[TuningResult]:
    """The results, up to the first that was interrupted."""
    from engine.results.progress import LOADING, progress_on

    with progress_on(sys.stderr) as progress:
        progress(LOADING)
        # --help and mistyped names do not wait for this import.
        from engine.run.request import SearchOptions, TuningRequest
        from engine.run.tuning import tune

    results = []
    studies = _studies(arguments)
    for number, (kernel, dtype, devices) in enumerate(studies, start=1):
        named = kernel if dtype is None else f"{kernel} {dtype}"
        say(f"{number}/{len(studies)} {named}", file=sys.stderr, flush=True)
        request = TuningRequest(
            kernel=kernel,
            shapes=(arguments.shape,),
            dtype=dtype,
            devices=devices,
            search=SearchOptions(trials=arguments.trials),
        )
        with progress_on(sys.stderr) as progress:
            results.append(tune(request, [progress]))
        if results[-1].ended.reason == "interrupted":
            break
    return results


def _table(results: Sequence[TuningResult]) -> str:
    """A Markdown table. Times are medians; estimates are labelled, with the widest error band."""
    estimates = [result.summary.estimate_of_all for result in results if result.summary.estimated]
    estimated = f" ({max(estimates, key=lambda text: (len(text), text))})" if estimates else ""
    lines = [
        f"| kernel | type | shape | default{estimated} | best{estimated} | best configuration "
        "| speed-up |",
        "|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*lines, *map(_row, results)])


def _row(result: TuningResult) -> str:
    from engine.results.units import speedup_text, time_text

    summary, problem = result.summary, result.problem
    winner, default = summary.winner, summary.default
    shape = " ".join(f"{name}={size}" for name, size in problem.shape.items())
    cores = result.cores or 1
    shape += f" on {cores_text(cores)}" if cores > 1 else ""
    times = [
        "-" if trial is None or trial.time_s is None else time_text(trial.time_s)
        for trial in (default, winner)
    ]
    config = "-" if winner is None else str(winner.config)
    speedup = None if winner is None else summary.speedup(winner)
    gain = "-" if speedup is None else speedup_text(speedup)
    cells = [problem.spec.name, problem.dtype, shape, *times, config, gain]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    run_command(main, _PROG)
