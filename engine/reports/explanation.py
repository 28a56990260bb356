"""Where the cycles of a study's winner and default went, for its report."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.explained.spent import Spent, keep_spent, kept_spent, spent_by
from engine.explained.study import DEFAULT, WINNER, emulated_board, explain_trials, problem_of
from engine.run.counters import CYCLES, counters_of
from engine.run.summary import Summary
from engine.study.stored_trial import StoredTrial
from engine.study.trials import StoredTrials
from foundation.errors import CommandError, UserError
from kernels.spec import Problem
from rvv_runner.usage import cores_in

__all__ = ["Explanation", "explained_or_kept", "keep_explanation", "kept"]

# What a report asks of a study and its summary; empty if nothing is known.
Explanation = Callable[[StoredTrials, Summary], Sequence[Spent]]


def kept(stored: StoredTrials, summary: Summary) -> Sequence[Spent]:
    """What is stored with the study, if it is about today's winner and default."""
    return kept_spent(stored, [trial.config for trial in _trials(summary).values()])


def explained_or_kept(file: str | None, note: Callable[[str], None]) -> Explanation:
    """What is stored with the study, or else one more run of the two configurations.

    Args:
        file: of a kernel of the user's own.
        note: gets a sentence if they cannot be run as they were.
    """

    def explanation(stored: StoredTrials, summary: Summary) -> Sequence[Spent]:
        found = kept(stored, summary)
        if found or not _is_possible(stored, summary):
            return found
        try:
            return _explained(stored, summary, problem_of(stored, file))
        except CommandError as error:
            note(f"the page does not say where the cycles went: {error}")
            return ()

    return explanation


def keep_explanation(stored: StoredTrials, summary: Summary, problem: Problem) -> None:
    """Run the winner and the default once more, and store where their cycles went.

    Does nothing if the study is not of one shape on an emulated core, or has this already.

    Raises:
        UserError, BoardError: if they cannot be run as they were.
    """
    if _is_possible(stored, summary) and not kept(stored, summary):
        keep_spent(stored, _explained(stored, summary, problem))


def _trials(summary: Summary) -> dict[str, StoredTrial]:
    trials = {WINNER: summary.winner, DEFAULT: summary.default}
    if summary.default is summary.winner:
        del trials[DEFAULT]
    return {label: trial for label, trial in trials.items() if trial is not None}


def _is_possible(stored: StoredTrials, summary: Summary) -> bool:
    is_one_shape = not isinstance(stored.attribute("shape"), list)
    is_one_core = cores_in(str(stored.attribute("device"))) == 1
    return summary.winner is not None and summary.estimated and is_one_shape and is_one_core


def _explained(stored: StoredTrials, summary: Summary, problem: Problem) -> tuple[Spent, ...]:
    """Today's cycles, if they are those of the study.

    Raises:
        UserError, BoardError: if they are not, or the configurations do not run any more.
    """
    device = str(stored.attribute("device"))
    board = emulated_board(device)
    if board is None:
        raise UserError(f"there is no emulated board {device} any more")
    trials = _trials(summary)
    spent = spent_by(explain_trials(problem, trials, board))
    for one in spent:
        before = counters_of(trials[one.label]).get(CYCLES)
        if before is not None and before != one.cycles:
            raise UserError(
                f"the {one.label} took {before:,.0f} cycles and takes {one.cycles:,.0f} now; if "
                "the kernel, the compiler, the board or the data changed, tune it again"
            )
    return spent
