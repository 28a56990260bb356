"""Say why a study's winner won: python -m engine.explain STUDY"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.arguments.options import add_storage_argument, add_study_argument
from engine.arguments.problem import add_own_kernel_argument
from foundation.command_line import EXIT_FOUND, ArgumentParser, invocation, run_command
from foundation.errors import UserError
from foundation.printing import say

if TYPE_CHECKING:
    from engine.explained.explained import Explained
    from engine.run.summary import Summary
    from engine.study.stored_trial import StoredTrial
    from engine.study.trials import StoredTrials

__all__ = ["main"]

_PROG = "engine.explain"
_DESCRIPTION = (
    "Runs a study's winner, the runner-up and the default again on an emulated board, and shows "
    "where their cycles went, by cause and by source line of the kernel. For a study of a real "
    "board, it prints the events that the board counted."
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
    from engine.results.progress import LOADING, progress_on
    from engine.run.events import StageStarted
    from foundation.console import EscapingConsole

    with progress_on(sys.stderr) as tell:
        tell(LOADING)
        # Optuna and Triton take seconds to import: --help does not wait for them.
        from engine.explained.counted import print_counted
        from engine.explained.study import emulated_board, explain_trials, problem_of, roles
        from engine.explained.tables import print_explained
        from engine.study.storage import study_named

    stored = study_named(arguments.storage, arguments.study)
    measured_on = str(stored.attribute("device"))
    board = emulated_board(arguments.device or measured_on)
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
    with progress_on(sys.stderr) as tell:
        trials = roles(summary)
        tell(StageStarted(f"building and running: {', '.join(trials)}"))
        explained = explain_trials(problem_of(stored, arguments.kernel), trials, board)
    print_explained(explained, _estimate(explained[0]), console)
    for note in _notes(explained, summary):
        say(f"note: {note}")
    return EXIT_FOUND


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    add_study_argument(parser)
    add_storage_argument(parser)
    add_own_kernel_argument(parser)
    parser.add_argument(
        "--device",
        metavar="NAME",
        help="the emulated board to explain on (default: the study's own)",
    )
    return parser.parse(argv)


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
    from engine.explained.study import roles
    from engine.run.counters import counters_of

    trials = roles(summary)
    if not counters_of(trials["winner"]):
        raise UserError(
            f"{stored.study_name} has times and no counters: "
            f"{_advice(str(stored.attribute('device')))}"
        )
    return trials


def _summary(stored: StoredTrials) -> Summary:
    """The study's outcome.

    Raises:
        UserError: if it has no winner.
    """
    from engine.run.stored_summary import stored_summary

    summary = stored_summary(stored, [trial for trial in stored.changes() if trial.has_outcome])
    if summary.winner is None:
        raise UserError(f"{stored.study_name} has no winner yet: tune it first")
    return summary


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
