"""What of a program's budget goes into comparing its tasks' leaders."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any, cast

import pytest

from engine.programs.comparing import (
    has_ties,
    heaviest_first,
    is_for_more_trials,
    rounds_of,
    trials_part,
)
from engine.programs.scheduler import TaskState
from engine.programs.standing import ProgramTask, TaskStanding
from engine.repeats.rounds import ALL_ROUNDS, NO_ROUNDS, Rounds
from engine.run.summary import summarise
from engine.study.stored_trial import StoredTrial
from foundation.config import Config
from rvv_runner.measurement import Status

TASK = ProgramTask("key", "file#key", "softmax", "softmax 8x8 fp32", 10, 1e-3)


def state(launches: int) -> TaskState:
    return TaskState(launches, deployed_s=2e-3, best_s=1e-3, tried=5, size=9, family="softmax")


def trial(number: int, *times_s: float) -> StoredTrial:
    status: Status = "correct" if times_s else "wrong"
    median = sorted(times_s)[len(times_s) // 2] if times_s else None
    return StoredTrial(number, Config({"i": number}), status, median, {"times_s": times_s})


def standing(*trials: StoredTrial, **changes: Any) -> TaskStanding:
    summary = summarise(trials, Config({"i": 0}))
    tuned = TaskStanding(TASK, size=9, result=cast("Any", SimpleNamespace(summary=summary)))
    return dataclasses.replace(tuned, **changes)


CLOSE = (trial(0, 1.0, 1.02, 0.98, 1.01), trial(1, 0.99, 1.01, 0.97, 1.0))


def test_close_trials_are_compared() -> None:
    assert has_ties(standing(*CLOSE))


@pytest.mark.parametrize(
    "other",
    [
        standing(CLOSE[0]),
        standing(CLOSE[0], trial(1)),
        standing(*CLOSE, trial(2, 0.5, 0.51, 0.49, 0.5)),
        standing(*CLOSE, refusal="it cannot be tuned"),
        TaskStanding(TASK),
    ],
    ids=["alone", "others failed", "far ahead", "refused", "untried"],
)
def test_others_are_not(other: TaskStanding) -> None:
    assert not has_ties(other)


def test_a_gain_over_what_is_deployed_is_always_compared() -> None:
    """However large: the two trials may be of days on which the board was not equally busy."""
    slow, fast = trial(0, 1.0, 1.02, 0.98, 1.01), trial(1, 0.5, 0.51, 0.49, 0.5)
    assert has_ties(standing(slow, fast, is_noisy=True))
    assert not has_ties(standing(slow, fast))  # of a model
    deployed_ahead = (trial(0, 0.5, 0.51, 0.49, 0.5), trial(1, 1.0, 1.02, 0.98, 1.01))
    assert not has_ties(standing(*deployed_ahead, is_noisy=True))


def test_a_small_share_of_the_program_gets_few_rounds_or_none() -> None:
    states = [state(900), state(95), state(5)]
    assert rounds_of(states, 0, None, is_unconfirmed=False) == ALL_ROUNDS
    assert rounds_of(states, 1, 7.0, is_unconfirmed=True) == Rounds(6, 7.0)
    assert rounds_of(states, 2, None, is_unconfirmed=False) == NO_ROUNDS
    assert rounds_of(states, 2, None, is_unconfirmed=True) == Rounds(6)


def test_each_task_may_take_its_part_of_the_time_that_is_left() -> None:
    states = [state(25), state(100), state(50), state(25)]
    parts = heaviest_first(states, [0, 1, 2])
    assert [number for number, _ in parts] == [1, 2, 0]
    assert [part for _, part in parts] == pytest.approx([100 / 175, 50 / 75, 1.0])


def test_what_comparisons_leave_of_the_time_goes_to_trials_again() -> None:
    assert trials_part(1.0) == 0.75
    assert is_for_more_trials(0.25)  # there were no ties
    assert trials_part(0.25) == 0.9375
    assert not is_for_more_trials(0.04)
