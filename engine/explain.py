"""Say why a study's winner won: python -m engine.explain STUDY"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from engine.arguments.options import add_storage_argument
from engine.arguments.problem import kernel_name
from foundation.command_line import EXIT_FOUND, ArgumentParser, invocation, run_command
from foundation.errors import UserError
from foundation.printing import say

if TYPE_CHECKING:
    from engine.explained.explained import Explained
    from engine.run.summary import Summary
    from engine.study.stored_trial import StoredTrial
    from engine.study.trials import StoredTrials
    from kernels.spec import Problem
    from rvv_runner.emulated.board import EmulatedBoard

__all__ = ["main"]

_PROG = "engine.explain"
_DESCRIPTION = (
    "Runs a study's winner, the runner-up and the default again on an emulated board, and says "
    "where their cycles went: by cause, and by source line of the kernel. Of a real board, which "
    "does not tell, it prints what the board counted of each."
)
_EPILOG = "Exit status: 0 if it could be explained, 2 for a mistake in the command."
_WIDTH = 120  # where the output is no terminal


def main(argv: Sequence[str] | None) -> int:
    """Run the command and return the exit status.

    Raises:
        UserError: for a mistake in the arguments, an unreadable storage, or a study whose cycles
            cannot be explained.
        BoardError: if the emulated board cannot be used.
    """
    arguments = _parse(argv)
    # Optuna and Triton take seconds to import: --help does not wait for them.
    from engine.explained.counted import print_counted
    from engine.explained.tables import print_explained
    from engine.study.storage import study_named
    from foundation.console import EscapingConsole

    stored = study_named(arguments.storage, arguments.study)
    measured_on = str(stored.attribute("device"))
    board = _emulated(arguments.device or measured_on)
    summary = _summary(stored)
    console = EscapingConsole(width=None if sys.stdout.isatty() else _WIDTH)
    if board is None:
        if arguments.device is not None:
            raise UserError(f"{arguments.device} is not emulated: {_advice(arguments.device)}")
        print_counted(_counted(stored, summary), console)
        say(
            f"note: {measured_on} is not emulated, and its counters do not say what each cycle was "
            f"spent on: {_advice(measured_on)}"
        )
        return EXIT_FOUND
    problem = _problem(stored, arguments.kernel)
    board.open()
    explained = _explain(problem, summary, board)
    print_explained(explained, _estimate(explained[0]), console)
    for note in _notes(explained, summary):
        say(f"note: {note}")
    return EXIT_FOUND


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    parser.add_argument("study", metavar="STUDY", help="name of a study")
    add_storage_argument(parser)
    parser.add_argument(
        "--kernel",
        metavar="FILE",
        type=kernel_name,
        help="the file of a kernel of your own, which the study does not know",
    )
    parser.add_argument(
        "--device",
        metavar="NAME",
        help="the emulated board to explain on (default: the study's own)",
    )
    return parser.parse(argv)


def _emulated(device: str) -> EmulatedBoard | None:
    """The emulated board of that name; None for any other device."""
    from rvv_runner.devices import board_names, load_board
    from rvv_runner.emulated.board import EmulatedBoard
    from rvv_runner.usage import split_usage

    board = load_board(device) if split_usage(device)[0] in board_names() else None
    return board if isinstance(board, EmulatedBoard) else None


def _advice(device: str) -> str:
    """How to explain what ran on a device that is not emulated."""
    from rvv_runner.devices import DEFAULT_DEVICE, board_names
    from rvv_runner.usage import split_usage

    kind, usage = split_usage(device)
    model = f"emulated:{kind}"
    name = (model if model in board_names() else DEFAULT_DEVICE) + usage.suffix
    return f"add --device {name} to explain the same configurations there, on a model"


def _counted(stored: StoredTrials, summary: Summary) -> dict[str, StoredTrial]:
    """The trials to show, by role.

    Raises:
        UserError: if nothing was counted of the winner.
    """
    from engine.run.counters import counters_of

    trials = _roles(summary)
    if not counters_of(trials["winner"]):
        raise UserError(
            f"{stored.study_name} has times and no counters: "
            f"{_advice(str(stored.attribute('device')))}"
        )
    return trials


def _roles(summary: Summary) -> dict[str, StoredTrial]:
    """The winner, the runner-up and the default, as far as the study has them."""
    trials = dict(zip(("winner", "runner-up"), summary.best, strict=False))
    if summary.default is not None and summary.default not in trials.values():
        trials["default"] = summary.default
    return trials


def _problem(stored: StoredTrials, file: str | None) -> Problem:
    """The study's problem, of several shapes the first.

    Raises:
        UserError: if the kernel is not this project's and no file is given, or the study chose
            other outputs.
    """
    from kernels.registry import kernel_names, load_kernel, make_problem

    name = str(stored.attribute("kernel"))
    if file is None and name not in kernel_names():
        raise UserError(f"{name} is a kernel of your own: add --kernel FILE with its file")
    made_with = stored.attribute("made_with")
    if isinstance(made_with, Mapping) and "choice of outputs" in made_with:
        raise UserError(f"{stored.study_name} chose its outputs: explain a study without that")
    shape = stored.attribute("shape")
    first = shape[0] if isinstance(shape, list) else shape
    assert isinstance(first, Mapping)
    return make_problem(load_kernel(file or name), dict(first), str(stored.attribute("dtype")))


def _summary(stored: StoredTrials) -> Summary:
    """The study's outcome.

    Raises:
        UserError: if it has no winner.
    """
    from engine.repeats.comparison import COMPARISON, kept_comparison
    from engine.run.summary import summarise
    from engine.study.robust import ROBUST, robust_of

    judged = [trial for trial in stored.changes() if trial.has_outcome]
    default = next((trial.config for trial in judged if "wall_s" in trial.attributes), None)
    comparison = kept_comparison(stored.attribute(COMPARISON), judged)
    robust = robust_of(stored.attribute(ROBUST))
    summary = summarise(judged, default, comparison, robust=robust)
    if summary.winner is None:
        raise UserError(f"{stored.study_name} has no winner yet: tune it first")
    return summary


def _explain(problem: Problem, summary: Summary, board: EmulatedBoard) -> list[Explained]:
    """Each of them, run once more with its lines."""
    from engine.explained.explained import explain_config
    from engine.workers.artifacts import ARTIFACT_FOLDER, ArtifactStore
    from engine.workers.kernel_builder import BuildRequest, KernelBuilder

    request = BuildRequest(
        problem.spec.load_name,
        problem.shape,
        problem.dtype,
        board.info.target,
        ArtifactStore(ARTIFACT_FOLDER.resolve()),
        with_lines=True,
    )
    builder = KernelBuilder(request)
    return [
        explain_config(label, trial.config, builder, board)
        for label, trial in _roles(summary).items()
    ]


def _notes(explained: Sequence[Explained], summary: Summary) -> list[str]:
    """Where today's cycles are not those that the study has."""
    from engine.run.counters import CYCLES, counters_of

    stored = {trial.config: counters_of(trial).get(CYCLES) for trial in summary.best}
    notes = []
    if summary.default is not None:
        stored[summary.default.config] = counters_of(summary.default).get(CYCLES)
    for one in explained:
        before = stored.get(one.config)
        if before is not None and before != one.cycles:
            notes.append(
                f"the study has {before:,.0f} cycles for the {one.label}, and now it has "
                f"{one.cycles:,.0f}: its kernel, compiler, board or data are no longer the same"
            )
    return notes


def _estimate(winner: Explained) -> str:
    from engine.run.estimates import estimate_text
    from rvv_runner.emulated.error_band import error_band

    measurement = winner.measurement
    return estimate_text(True, error_band(measurement.board, measurement.counters))


if __name__ == "__main__":
    run_command(main, _PROG)
