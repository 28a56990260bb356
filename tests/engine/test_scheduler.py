"""The program's scheduler, as a function of what is known of each task."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from engine.programs.scheduler import (
    SLICE_TRIALS,
    TaskState,
    first_trials,
    next_task,
    part_after_slice,
    part_after_trial,
    program_time_s,
    slice_trials,
    worth_examining,
)


def task(**changes: Any) -> TaskState:
    """A task without trials, with some fields changed."""
    fresh = TaskState(
        launches=10, deployed_s=1e-3, best_s=1e-3, tried=0, size=100, family="softmax"
    )
    return dataclasses.replace(fresh, **changes)


def test_the_program_time_is_the_sum_over_launches() -> None:
    assert program_time_s([task(), task(launches=2, best_s=5e-3)]) == pytest.approx(2e-2)


def test_the_heaviest_task_is_first() -> None:
    assert next_task([task(), task(launches=50, family="matmul"), task(family="rope")]) == 1


def test_equal_tasks_take_the_first() -> None:
    assert next_task([task(family="a"), task(family="b")]) == 0


def test_nothing_is_left_once_every_task_is_done_or_exhausted() -> None:
    assert next_task([task(is_done=True), task(tried=100)]) is None
    assert next_task([]) is None


def test_a_task_that_expects_nothing_makes_room_for_a_lighter_one() -> None:
    spent = task(launches=50, tried=30, expected_gain=1e-9)
    assert next_task([spent, task(family="rope")]) == 1


def test_a_task_that_still_expects_much_keeps_its_turn() -> None:
    promising = task(launches=50, tried=2 * SLICE_TRIALS, expected_gain=0.02)
    assert next_task([promising, task(family="rope")]) == 0


def test_a_task_whose_kind_gained_much_comes_before_one_of_an_unknown_kind() -> None:
    tuned = task(launches=50, tried=40, best_s=5e-4, expected_gain=1e-9)
    assert next_task([tuned, task(family="rope"), task()]) == 2


def test_a_task_whose_kind_gained_nothing_comes_after_one_of_an_unknown_kind() -> None:
    tuned = task(launches=50, tried=40, expected_gain=1e-9)
    assert next_task([tuned, task(), task(family="rope")]) == 2


def test_a_small_space_promises_less_than_a_large_one() -> None:
    assert next_task([task(size=2, family="rope"), task()]) == 1


def test_slow_trials_count_against_a_task() -> None:
    assert next_task([task(trial_s=10.0), task(trial_s=1.0, family="rope")]) == 1


@pytest.mark.parametrize("part_left", [1.0, 0.1])
def test_a_task_of_one_configuration_is_measured_when_nothing_else_is_left(
    part_left: float,
) -> None:
    fixed = task(launches=1000, size=1)
    assert next_task([fixed, task()], part_left) == 1
    assert next_task([fixed, task(tried=100)], part_left) == 0


def test_a_task_slower_than_before_has_gained_nothing() -> None:
    assert task(best_s=2e-3).gained == 0.0
    assert task(best_s=7.5e-4).gained == pytest.approx(0.25)


def test_the_last_part_of_a_budget_goes_to_tasks_without_a_trial() -> None:
    promising = task(launches=90, tried=SLICE_TRIALS, expected_gain=0.1)
    light, negligible = task(launches=2, family="rope"), task(launches=0.1, family="norm")
    assert next_task([promising, negligible, light], part_left=0.5) == 0
    assert next_task([promising, negligible, light], part_left=0.1) == 2
    tried = dataclasses.replace(light, tried=SLICE_TRIALS)
    assert next_task([promising, negligible, tried], part_left=0.1) == 0


def test_where_time_alone_is_limited_no_builder_idles() -> None:
    assert slice_trials(15, limits_trials=False) == 15
    assert slice_trials(1, limits_trials=False) == SLICE_TRIALS
    assert slice_trials(15, limits_trials=True) == SLICE_TRIALS


def waiting(**changes: Any) -> TaskState:
    return task(size=1, is_done=True, waits=True, **changes)


def test_until_the_first_trial_only_heavier_tasks_are_examined() -> None:
    states = [task(), waiting(launches=9), waiting(launches=11), waiting(launches=50)]
    assert worth_examining(states, [1.0] * len(states), has_begun=False) == [3, 2]
    states[0] = task(launches=60)
    assert worth_examining(states, [1.0] * len(states), has_begun=False) == []


def test_a_task_is_examined_if_more_is_expected_of_it_than_of_further_trials() -> None:
    promising = task(launches=50, tried=2 * SLICE_TRIALS, expected_gain=0.02)
    states = [promising, waiting(launches=1), waiting(launches=200, family="rope")]
    assert worth_examining(states, [1.0] * len(states), has_begun=True) == [2]
    states[0] = dataclasses.replace(promising, tried=30, expected_gain=1e-9)
    assert worth_examining(states, [1.0] * len(states), has_begun=True) == [2, 1]


def test_an_examination_that_takes_long_has_to_promise_more() -> None:
    states = [task(tried=5, expected_gain=0.02), waiting(launches=15)]
    assert worth_examining(states, [1.0] * len(states), has_begun=True) == [1]
    assert worth_examining(states, [200.0] * len(states), has_begun=True) == []


def test_what_is_examined_quickly_comes_first_and_what_takes_too_long_last() -> None:
    states = [waiting(launches=12), waiting(launches=10, family="rope"), waiting(launches=1)]
    takes_s = [900.0, 10.0, 10.0]
    assert worth_examining(states, takes_s, has_begun=False) == [1, 2, 0]
    takes_s = [11.0, 10.0, 10.0]
    assert worth_examining(states, takes_s, has_begun=False) == [0, 1, 2]
    assert worth_examining(states, takes_s, has_begun=False, left_s=10.5) == [1, 2, 0]


def test_less_is_expected_of_tasks_that_wait_where_most_had_nothing_to_try() -> None:
    states = [task(tried=5, expected_gain=0.02), waiting(launches=15)]
    every = [*states, *[task(launches=1, size=1, tried=1, is_done=True)] * 20]
    assert worth_examining(every, [1.0] * len(every), has_begun=True) == []


def test_where_nothing_can_be_tried_each_task_is_examined_the_heaviest_first() -> None:
    states = [waiting(launches=1), waiting(launches=5), task(size=1)]
    assert worth_examining(states, [1.0] * len(states), has_begun=True) == [1, 0]


def test_a_slice_leaves_the_last_part_to_tasks_without_a_trial() -> None:
    promising, light = task(tried=SLICE_TRIALS, expected_gain=0.1), task(launches=2, family="rope")
    assert part_after_slice([promising, light], 0, 0.5) == pytest.approx(0.2)
    assert part_after_slice([promising, light], 0, 0.1) == 0.0
    negligible = dataclasses.replace(light, launches=0.01)
    assert part_after_slice([promising, negligible], 0, 0.5) == 0.0
    assert part_after_slice([light], 0, 0.5) == 0.0


def test_no_trial_begins_that_would_end_in_the_last_part() -> None:
    promising = task(tried=SLICE_TRIALS, expected_gain=0.1, best_s=5e-4, trial_s=2.0)
    states = [promising, task(launches=2, family="rope")]
    left = part_after_trial(states, 0.22, time_s=60.0)
    assert left == pytest.approx(0.22 - 2.0 / 60.0)
    assert (next_task(states, 0.22), next_task(states, left)) == (0, 1)
    assert part_after_trial(states, 0.01, time_s=60.0) == 0.0
    assert part_after_trial(states, 0.22, time_s=None) == 0.22
    assert part_after_trial([task()], 0.22, time_s=60.0) == 0.22


def test_in_the_last_half_a_task_that_gained_nothing_waits_for_those_without_a_trial() -> None:
    spent = task(launches=50, tried=SLICE_TRIALS, expected_gain=0.1)
    others = [task(launches=5, family="rope"), task(launches=1, family="norm")]
    assert next_task([spent, *others], 0.6) == 0
    assert next_task([spent, *others], 0.5) == 1
    gained = dataclasses.replace(spent, best_s=5e-4)
    assert next_task([gained, *others], 0.5) == 0
    tried = dataclasses.replace(others[0], tried=SLICE_TRIALS)
    assert next_task([spent, tried, others[1]], 0.5) == 0


def test_each_task_is_owed_its_default_and_something_else() -> None:
    light = task(launches=1, family="rope")
    heavy = task(launches=50, tried=1)
    assert list(first_trials([light, heavy], 3).items()) == [(1, 1), (0, 2)]
    assert first_trials([light, heavy], 2) == {}  # too few for both
    assert first_trials([heavy, task(size=1)], 9) == {0: 1}  # one has nothing else
    assert first_trials([task(tried=2), task(is_done=True)], 9) == {}
