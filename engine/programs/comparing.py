"""How much of a program's budget goes into comparing the leaders of each task."""

from __future__ import annotations

from collections.abc import Sequence

from engine.programs.scheduler import TaskState
from engine.programs.standing import TaskStanding
from engine.repeats.racing import stands_out
from engine.repeats.rounds import ALL_ROUNDS, CONFIDENCE, NO_ROUNDS, Rounds
from engine.repeats.signed_rank import fewest_values

__all__ = ["has_ties", "heaviest_first", "is_for_more_trials", "rounds_of", "trials_part"]

# Of the time that is left. Ten timed runs of each of twenty trials take about three times as long
# as twelve rounds of six leaders.
_COMPARED_PART = 0.25
# Of the whole time; with less, trials and their comparison gain nothing.
_LEAST_FOR_TRIALS = 0.05

# Shares of the program's time below which a task's leaders get as few rounds as a verdict needs, or
# none if no gain waits for it: to take the second fastest of a task costs a program a few percent
# of the task's share.
_LARGE_SHARE = 0.1
_LEAST_SHARE = 0.01


def trials_part(left_part: float) -> float:
    """When trials end and comparisons begin, as a part of the time of a budget.

    Args:
        left_part: of that time, when the trials begin.
    """
    return 1.0 - _COMPARED_PART * left_part


def is_for_more_trials(left_part: float) -> bool:
    """Whether trials go on with what comparisons have left of the time of a budget."""
    return left_part >= _LEAST_FOR_TRIALS


def has_ties(standing: TaskStanding) -> bool:
    """Whether the times of a task's trials leave open which of its configurations wins, as they do
    where another than the deployed one is the fastest: no gain counts that trials alone show."""
    if standing.refusal or standing.result is None:
        return False
    if standing.is_unconfirmed:
        return True
    summary = standing.result.summary
    if summary.comparison is not None or summary.winner is None:
        return False
    others = {trial.config: trial for trial in summary.best[1:]}
    if summary.default is not None and summary.default is not summary.winner:
        others.setdefault(summary.default.config, summary.default)
    runs = [trial.times_s for trial in others.values()]
    return bool(others) and not stands_out(summary.winner.times_s, runs)


def rounds_of(
    states: Sequence[TaskState], number: int, left_s: float | None, *, is_unconfirmed: bool
) -> Rounds:
    """The rounds of one task, by its share of the program's time.

    Args:
        states: of all tasks.
        number: the position of the task.
        left_s: seconds for its rounds; None for no limit.
        is_unconfirmed: whether it has a gain that counts only once it was compared.
    """
    share = _weight(states[number]) / (sum(map(_weight, states)) or 1.0)
    if share < _LEAST_SHARE and not is_unconfirmed:
        return NO_ROUNDS
    if share < _LARGE_SHARE:
        return Rounds(fewest_values(CONFIDENCE), left_s)
    return Rounds(ALL_ROUNDS.most, left_s)


def heaviest_first(states: Sequence[TaskState], numbers: Sequence[int]) -> list[tuple[int, float]]:
    """Positions of tasks, and what part of the time that is left then each may take."""
    ordered = sorted(numbers, key=lambda number: -_weight(states[number]))
    weights = [_weight(states[number]) for number in ordered]
    return [
        (number, weights[place] / (sum(weights[place:]) or 1.0))
        for place, number in enumerate(ordered)
    ]


def _weight(state: TaskState) -> float:
    """Seconds of a run of the program, of its best configuration."""
    return state.launches * state.best_s
