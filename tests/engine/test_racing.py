"""Repeating a measurement only as long as it pays, and telling leaders apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from engine.repeats.comparison import (
    Comparison,
    compare,
    leaders,
)
from engine.repeats.racing import Race, noise_of, stands_out
from engine.repeats.rounds import CONFIDENCE, NO_ROUNDS, Rounds
from engine.repeats.signed_rank import centre, fewest_values
from engine.study.stored_trial import StoredTrial
from foundation.config import Config
from rvv_runner.measurement import Measurement, Status

NOISE = 0.05


class NoisyBoard:
    """Takes as long as it is told, times heavy-tailed noise: Student's t, 3 degrees of freedom."""

    def __init__(self, seed: int, noise: float = NOISE) -> None:
        self._rng = np.random.default_rng(seed)
        self._noise = noise
        self.runs = 0

    def time_s(self, truth_s: float) -> float:
        self.runs += 1
        return truth_s * math.exp(self._noise * self._rng.standard_t(3) / math.sqrt(3))

    def measure(self, truth_s: float) -> Callable[[int], Measurement]:
        return lambda runs: Measurement(
            "correct", tuple(self.time_s(truth_s) for _ in range(runs)), {"instructions": 7.0}
        )


def trial(number: int, *times_s: float) -> StoredTrial:
    median = float(np.median(times_s))
    return StoredTrial(number, Config({"i": number}), "correct", median, {"times_s": times_s})


def test_the_first_configuration_teaches_the_noise() -> None:
    race, board = Race(10), NoisyBoard(0)
    first = race.measure(board.measure(1.0))
    assert len(first.times_s) == 10
    race.learn(first.times_s)
    assert len(race.measure(board.measure(3.0)).times_s) == 2


def test_what_may_be_the_best_is_measured_more_often() -> None:
    race, board = Race(10), NoisyBoard(1)
    race.learn(race.measure(board.measure(1.0)).times_s)
    close = race.measure(board.measure(0.99))
    assert len(close.times_s) == 5
    assert close.counters == {"instructions": 7.0}
    assert len(race.measure(board.measure(0.5)).times_s) == 5


def test_noise_from_job_to_job_counts() -> None:
    """Within a job the board repeats itself nearly, and each job is off by five percent or so."""
    rng = np.random.default_rng(3)

    def run(truth_s: float, runs: int) -> Measurement:
        off = math.exp(0.05 * rng.normal())
        return Measurement("correct", tuple(truth_s * off * (1 + 1e-4 * n) for n in range(runs)))

    race = Race(10)
    race.learn(race.measure(lambda runs: run(1.0, runs)).times_s)
    close = [len(race.measure(lambda runs: run(1.03, runs)).times_s) for _ in range(20)]
    far = [len(race.measure(lambda runs: run(1.5, runs)).times_s) for _ in range(20)]
    assert np.mean(close) > 3.5
    assert np.mean(far) < 2.5


@pytest.mark.parametrize(("gap", "runs"), [(0.12, 5), (0.17, 4), (0.19, 2)])
def test_a_gap_of_two_and_a_half_standard_errors_settles_it(gap: float, runs: int) -> None:
    """Five jobs, each 5% off the next, against one, then two: errors of 0.072 and 0.055."""
    race = Race(10)
    jobs_s = [1.0, math.exp(0.05), 1.0, math.exp(0.05), 1.0]
    race.learn([time_s * part for time_s in jobs_s for part in (0.999, 1.001)])
    alike_s = [math.exp(gap) * (1 + n * 1e-6) for n in range(5)]
    times_s = iter(alike_s)
    measured = race.measure(
        lambda count: Measurement("correct", tuple(next(times_s) for _ in range(count)))
    )
    assert len(measured.times_s) == runs


def test_a_board_that_repeats_itself_is_noticed() -> None:
    race = Race(10)
    race.learn((1.0,) * 10)
    asked: list[int] = []

    def run(runs: int) -> Measurement:
        asked.append(runs)
        return Measurement("correct", (0.5,) * runs)

    race.measure(run)
    assert asked == [2]


def test_a_board_known_to_repeat_itself_runs_once() -> None:
    race = Race(1)
    for _ in range(2):
        measurement = race.measure(NoisyBoard(0, noise=0).measure(1.0))
        assert len(measurement.times_s) == 1
        race.learn(measurement.times_s)


@pytest.mark.parametrize("status", ["wrong", "timeout", "board"])
def test_a_failure_ends_it(status: Status) -> None:
    race, outcomes = Race(10), iter((Measurement("correct", (1.0, 1.1)), Measurement(status)))
    race.learn((1.0, 1.05, 0.97))
    assert race.measure(lambda _: next(outcomes)).status == status
    race.learn(())


def test_noise_is_neither_a_wild_run_nor_a_drift() -> None:
    rng = np.random.default_rng(0)
    quiet = np.exp(0.01 * rng.normal(size=400) + np.linspace(0, 0.5, 400))
    quiet[::50] *= 10
    assert noise_of([quiet.tolist()]) == pytest.approx(0.01, rel=0.25)
    steady = np.exp(0.01 * rng.normal(size=4000))
    assert noise_of([steady.tolist()]) == pytest.approx(0.01, rel=0.04)
    assert noise_of([(1.0,), ()]) == 0.0


@pytest.mark.parametrize(("count", "confidence"), [(6, 0.95), (12, 0.95), (12, 0.99)])
def test_intervals_hold_the_truth_as_often_as_they_say(count: int, confidence: float) -> None:
    rng = np.random.default_rng(count)
    intervals = [centre(rng.standard_t(2, count).tolist(), confidence) for _ in range(1500)]
    inside = np.mean([interval.low <= 0 <= interval.high for interval in intervals])
    assert confidence - 0.015 < inside < confidence + 0.03
    assert all(interval.low <= interval.centre <= interval.high for interval in intervals)


def test_an_interval_needs_enough_values() -> None:
    assert fewest_values(0.95) == 6
    with pytest.raises(ValueError, match="too few"):
        centre([1.0] * 5, 0.95)


def test_leaders_are_the_fastest() -> None:
    runs = [(1.0, 1.06, 0.95), (1.02, 1.08, 0.97), (1.5, 1.6, 1.4), (0.99, 1.05, 0.96)]
    runs += [(2.5, 2.6, 2.4), (9.0, 9.1, 8.9), (11.0, 11.1, 10.9)]
    trials = [trial(number, *times_s) for number, times_s in enumerate(runs)]
    failed = StoredTrial(9, Config({"i": 9}), "runtime")
    assert [config["i"] for config in leaders([*trials, failed])] == [3, 0, 1, 2]
    assert [config["i"] for config in leaders(trials, Config({"i": 5}))] == [3, 0, 1, 2, 5]
    assert [config["i"] for config in leaders(trials, Config({"i": 6}))] == [3, 0, 1, 2]
    once_fast = StoredTrial(8, Config({"i": 8}), "correct", 2.2, {"times_s": (1.1, 3.3)})
    assert [config["i"] for config in leaders([*trials, once_fast])] == [3, 0, 1, 2, 8]
    assert len(leaders([trial(number, 1.0) for number in range(9)])) == 5
    assert leaders([failed]) == []


def compared(truth_s: Sequence[float], seed: int, drift: float = 0.0) -> Comparison:
    board = NoisyBoard(seed, noise=0.02)

    def measure(order: Sequence[Config]) -> list[float]:
        return [board.time_s(truth_s[int(c["i"])]) * math.exp(drift * board.runs) for c in order]

    configs = [Config({"i": number}) for number in range(len(truth_s))]
    comparison = compare(configs, measure, seed=seed)
    assert comparison is not None
    return comparison


def test_the_fastest_wins_and_slower_leaders_are_significantly_slower() -> None:
    comparison = compared([1.2, 1.0, 1.001, 1.3], seed=0)
    assert comparison.winner.config["i"] in (1, 2)
    ties = [c.config["i"] for c in comparison.contenders[1:] if not c.is_significantly_slower]
    assert ties == [3 - int(comparison.winner.config["i"])]
    slowest = comparison.contenders[-1]
    assert slowest.config["i"] == 3
    assert slowest.slower_low < 0.3 < slowest.slower_high
    assert slowest.rounds < comparison.winner.rounds
    assert Comparison.from_json(comparison.to_json()) == comparison


def test_a_drift_meets_all_alike() -> None:
    """The board gets a fifth slower during the comparison, the leaders differ by a twentieth."""
    wins = [compared([1.0, 1.05], seed, drift=0.01).winner.config["i"] == 0 for seed in range(10)]
    assert sum(wins) == 10


@pytest.mark.parametrize("drift", [pytest.param(0.0, marks=pytest.mark.long), 0.02])
def test_ties_are_rarely_significant(drift: float) -> None:
    ties = [compared([1.0, 1.0], seed, drift) for seed in range(100)]
    told = [comparison.contenders[1].is_significantly_slower for comparison in ties]
    assert np.mean(told) < 2 * (1 - CONFIDENCE) + 0.03


def test_a_board_that_fails_leaves_no_verdict() -> None:
    rounds = iter([[1.0, 2.0]] * 4)
    assert compare([Config({"i": 0}), Config({"i": 1})], lambda _: next(rounds, None), 0) is None


@pytest.mark.parametrize(
    ("rounds", "round_s", "begun"),
    [
        (Rounds(), 1.0, 12),
        (Rounds(6), 1.0, 6),
        (Rounds(12, 9.0), 1.0, 9),
        (Rounds(12, 5.0), 1.0, 1),  # a verdict needs six
        (Rounds(12, 0.0), 1.0, 0),
        (Rounds(0), 1.0, 0),
    ],
)
def test_rounds_end_in_time(rounds: Rounds, round_s: float, begun: int) -> None:
    done = 0
    while rounds.allow_one_more(done, done * round_s):
        done += 1
    assert done == begun


def test_rounds_too_few_for_a_verdict_give_none() -> None:
    configs = [Config({"i": 0}), Config({"i": 1})]
    asked = []

    def measure(order: Sequence[Config]) -> list[float]:
        asked.append(order)
        return [1.0 for _ in order]

    assert compare(configs, measure, 0, rounds=Rounds(6)) is not None
    assert len(asked) == 6
    assert compare(configs, measure, 0, rounds=NO_ROUNDS) is None
    assert len(asked) == 6


def test_a_configuration_stands_out_beyond_noise_and_drift() -> None:
    runs = (1.0, 1.01, 1.0, 1.02)
    slower = [tuple(1.5 * run for run in runs), tuple(2.0 * run for run in runs)]
    assert stands_out(runs, slower)
    assert not stands_out(runs, [*slower, tuple(1.05 * run for run in runs)])
    noisy = (0.5, 0.6, 1.6, 1.6, 1.0, 1.0)
    assert not stands_out(noisy, [tuple(1.3 * run for run in noisy)])
    assert not stands_out((1.0, 1.0), [(1.5, 1.5)])  # one job each shows no noise
