"""Which of a program's tasks gets the next trials: the one from which the program gains most.

As in TVM's task scheduler (L. Zheng et al., "Ansor: Generating High-Performance Tensor Programs for
Deep Learning", OSDI 2020, section 6), a task's claim is a gradient: how much a trial is expected to
shorten the program, which is the expected relative improvement of the task's time times the time
that the program spends in it. Ansor guesses the improvement from the number of trials alone; here
the surrogate of the task's own search predicts it too.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

__all__ = [
    "FIRST_TRIALS",
    "SLICE_TRIALS",
    "TaskState",
    "first_trials",
    "next_task",
    "part_after_slice",
    "part_after_trial",
    "program_time_s",
    "slice_trials",
    "worth_examining",
]

# Trials that a task gets at a time. A search often gains nothing for a few trials and then much, so
# fewer would judge it too early.
SLICE_TRIALS = 5

# Where trials are counted and suffice, each task gets so many: its default and something else.
FIRST_TRIALS = 2

# The relative improvement by one trial after so many, as recorded spaces have it on average: it
# begins at _FIRST_GAIN and falls to 1/e every _GAIN_TRIALS.
_FIRST_GAIN = 0.035
_GAIN_TRIALS = 8.0
# The last part of a budget goes first to tasks without a trial that take at least such a share of
# the program's time: what the scheduler expects of them is a guess, which one slice makes better.
_LAST_PART = 0.2
_LEAST_SHARE = 0.01
# In the last half of a budget, a task of such a share gets its first trials before more go to one
# that gained less than that.
_COVERING_PART = 0.5
_COVERED_SHARE = 0.05
_SHOWN_GAIN = 0.005
# Smaller spaces have less to find.
_FULL_SPACE = 12
# How many trials an examination is spread over: a task that has something to try gets some slices.
_SPREAD_TRIALS = 4 * SLICE_TRIALS
# A surrogate of few trials is too sure that nothing is left.
_LEAST_EXPECTED = 1e-5


@dataclass(frozen=True)
class TaskState:
    """One task of a program, as far as it is tuned.

    Args:
        launches: in one run of the program.
        deployed_s: time of a launch before tuning, in seconds.
        best_s: time of a launch with the best configuration so far, in seconds.
        tried: trials so far, 0 or more.
        size: number of valid configurations, at least 1.
        family: tasks of one family warm-start each other.
        expected_gain: the relative improvement that the search's surrogate expects of the next
            trial; None while there are too few trials.
        trial_s: seconds that a trial takes; None if that is not known.
        is_done: whether its search has converged, or cannot go on.
        waits: whether it is not known yet what it has to try; then it is done for now.
    """

    launches: float
    deployed_s: float
    best_s: float
    tried: int
    size: int
    family: str
    expected_gain: float | None = None
    trial_s: float | None = None
    is_done: bool = False
    waits: bool = False

    @property
    def gained(self) -> float:
        """The relative improvement so far: 0.25 if three quarters of the time are left."""
        return max(0.0, 1.0 - self.best_s / self.deployed_s)


def slice_trials(jobs: int, *, limits_trials: bool) -> int:
    """How many trials a task gets at a time.

    Args:
        jobs: how many are built at once.
        limits_trials: whether the budget counts trials. Else fewer than jobs leave builders idle.
    """
    return SLICE_TRIALS if limits_trials else max(SLICE_TRIALS, jobs)


def program_time_s(states: Sequence[TaskState]) -> float:
    """The time that one run of the program spends in its tasks, in seconds."""
    return sum(map(_weight, states))


def next_task(states: Sequence[TaskState], part_left: float = 1.0) -> int | None:
    """The position of the task that gets the next `SLICE_TRIALS` trials.

    The same states give the same task; of equal claims, the first task's wins. Tasks of one
    configuration are for when no other is left.

    Args:
        states: of all tasks.
        part_left: of the budget, 1 at its beginning.

    Returns:
        None if every task is done or has tried its whole space.
    """
    open_ = _open(states)
    if not open_:
        return None
    if part_left <= _LAST_PART and (new := _without_trial(states, _LEAST_SHARE)):
        return max(new, key=lambda number: (_weight(states[number]), -number))
    best = max(open_, key=lambda number: (_claim(states, number), -number))
    is_early = part_left > _COVERING_PART
    if is_early or not states[best].tried or states[best].gained >= _SHOWN_GAIN:
        return best
    # What it showed is that it gained nothing so far; of the others, nothing is known.
    new = _without_trial(states, _COVERED_SHARE)
    return max(new, key=lambda number: (_claim(states, number), -number), default=best)


def first_trials(states: Sequence[TaskState], left: int) -> dict[int, int]:
    """What tasks lack of their first trials, by their positions, the task of most time first.

    Args:
        states: of all tasks.
        left: how many trials the budget still counts. If they do not suffice for all tasks, the
            scheduler divides them as any others, and nothing is kept for those.
    """
    lacking = {
        number: min(FIRST_TRIALS, states[number].size) - states[number].tried
        for number in sorted(_open(states), key=lambda n: -_weight(states[n]))
        if states[number].tried < min(FIRST_TRIALS, states[number].size)
    }
    return lacking if sum(lacking.values()) <= left else {}


def part_after_slice(states: Sequence[TaskState], number: int, part_left: float) -> float:
    """What part of the budget is left when the next slice ends, at the least.

    Args:
        states: of all tasks.
        number: the position of the task that gets the slice.
        part_left: of the budget.
    """
    others = set(_without_trial(states, _LEAST_SHARE)) - {number}
    return _LAST_PART if others and part_left > _LAST_PART else 0.0


def part_after_trial(states: Sequence[TaskState], part_left: float, time_s: float | None) -> float:
    """What part of the budget is left once a trial that begins now has ended.

    Else the last one before the part that is kept for others would begin, and be ended there.

    Args:
        states: of all tasks.
        part_left: of the budget.
        time_s: all of it, in seconds; None if it is not limited.
    """
    known_s = [state.trial_s for state in states if state.trial_s is not None]
    if not known_s or time_s is None:
        return part_left
    return max(0.0, part_left - statistics.fmean(known_s) / time_s)


def _open(states: Sequence[TaskState]) -> list[int]:
    """The tasks that may get trials; those of one configuration if there are no others."""
    open_ = [n for n, state in enumerate(states) if not state.is_done and state.tried < state.size]
    # A trial of the only configuration tells how long it takes, and gains nothing.
    return [number for number in open_ if states[number].size > 1] or open_


def _without_trial(states: Sequence[TaskState], share: float) -> list[int]:
    """Of the tasks that may get trials, those without one that take such a share of the time."""
    least_s = share * program_time_s(states)
    return [n for n in _open(states) if not states[n].tried and _weight(states[n]) >= least_s]


def worth_examining(
    states: Sequence[TaskState],
    examinations_s: Sequence[float],
    *,
    has_begun: bool,
    left_s: float = math.inf,
) -> list[int]:
    """The tasks that wait from which more is to be expected than from further trials of others.

    A task that waits promises what new ones do, times the share of tasks of its kernel that had
    something to try, and costs its examination, too. Where no other task can be tried, each is
    worth it.

    Args:
        states: of all tasks.
        examinations_s: seconds that the examination of each takes.
        has_begun: whether any task has got trials. Until then no task is worth a wait that can be
            tried and takes as much of the program's time: a short budget has a result first.
        left_s: what is left of the time; what takes longer comes last.

    Returns:
        Their positions, the one of which most is expected for the time that it takes first.
    """
    spread = _SPREAD_TRIALS if has_begun else SLICE_TRIALS

    def claim(number: int) -> float:
        usual = replace(states[number], size=_FULL_SPACE)
        seconds = _trial_s(states, usual) + examinations_s[number] / spread
        return _weight(usual) * _fruitful(states, usual.family) * _FIRST_GAIN / seconds

    waiting = [number for number, state in enumerate(states) if state.waits]
    waiting.sort(key=lambda number: (examinations_s[number] > left_s, -claim(number), number))
    best = next_task(states)
    if best is None or states[best].size <= 1:
        return waiting
    if not has_begun:
        heavier = [n for n in waiting if _weight(states[n]) > _weight(states[best])]
        return [number for number in heavier if examinations_s[number] <= left_s]
    return [number for number in waiting if claim(number) > _claim(states, best)]


def _fruitful(states: Sequence[TaskState], family: str) -> float:
    """The share of tasks that had something to try, of a family; of all, if none of it is known."""
    known = [state for state in states if not state.waits]
    known = [state for state in known if state.family == family] or known
    return (1 + sum(state.size > 1 for state in known)) / (2 + len(known))


def _weight(state: TaskState) -> float:
    """Seconds of a run of the program in the task."""
    return state.launches * state.best_s


def _claim(states: Sequence[TaskState], number: int) -> float:
    """Seconds by which one second of tuning is expected to shorten a run of the program."""
    state = states[number]
    return _weight(state) * _gain(states, number) / _trial_s(states, state)


def _gain(states: Sequence[TaskState], number: int) -> float:
    """The relative improvement that is expected of a task's next trial."""
    state = states[number]
    usual = _FIRST_GAIN * math.exp(-state.tried / _GAIN_TRIALS)
    usual *= min(1.0, (state.size - state.tried) / _FULL_SPACE)
    if not state.tried:
        # It will start from what similar tasks found, so it gains at once what they gained.
        shared = _gained_by_similar(states, number)
        return usual if shared is None else (usual + shared / SLICE_TRIALS) / 2
    if state.expected_gain is None:
        return usual
    return math.sqrt(usual * max(state.expected_gain, _LEAST_EXPECTED))


def _gained_by_similar(states: Sequence[TaskState], number: int) -> float | None:
    """The mean relative improvement of the task's family so far; None if none was tried."""
    family = states[number].family
    gains = [state.gained for state in states if state.family == family and state.tried]
    return sum(gains) / len(gains) if gains else None


def _trial_s(states: Sequence[TaskState], state: TaskState) -> float:
    """Seconds that a trial of the task takes: its own, or the mean of all that are known."""
    if state.trial_s is not None:
        return state.trial_s
    known = [other.trial_s for other in states if other.trial_s is not None]
    return sum(known) / len(known) if known else 1.0
