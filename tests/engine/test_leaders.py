"""The loop on a noisy board: fewer runs, and leaders compared at the end."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from fakes import FakeBoard, FakeBuilder
from search_helpers import IDENTITY

from engine.repeats.comparison import Comparison, Contender, compare
from engine.repeats.rounds import MOST_ROUNDS
from engine.results.leaders import comparison_sentences, leader_lines
from engine.run.budget import Budget
from engine.run.leader_rounds import LeaderRounds
from engine.run.loop import TuningLoop
from engine.run.outcome import Outcome
from engine.run.summary import summarise
from engine.run.time_limit import TimeLimit
from engine.search import Search
from engine.study.storage import open_study
from engine.workers.artifacts import BuildFailure
from engine.workers.board_pool import BoardPool
from engine.workers.board_seat import BoardSource
from engine.workers.builders import BuilderPool
from engine.workers.spans import Span
from foundation.config import Config
from search_spaces.space import Parameter, SearchSpace

pytestmark = pytest.mark.usefixtures("workers_here")

SPACE = SearchSpace(
    (Parameter("time_ms", (10, 11, 20, 30, 40, 50, 60)),), default=Config({"time_ms": 30})
)


def run(storage: Path, board: FakeBoard, trials: int = 7, space: SearchSpace = SPACE) -> Search:
    search = Search(space, "random", 0, open_study(str(storage), IDENTITY, space))
    loop = TuningLoop(
        search,
        BuilderPool(functools.partial(FakeBuilder), jobs=1, limit_s=100),
        BoardPool([BoardSource("fake", functools.partial(FakeBoard, **vars(board)))] * 2),
        budget=Budget(trials),
        in_flight=2,
        repeats=10,
    )
    loop.run()
    return search


def test_the_winner_is_found_with_few_runs_and_kept(tmp_path: Path) -> None:
    storage, log = tmp_path / "j.journal", tmp_path / "log"
    search = run(storage, FakeBoard(log, noise=0.005))
    comparison = search.comparison
    assert comparison is not None
    assert comparison.winner.config == {"time_ms": 10}
    assert comparison.winner.low_s < 0.010 < comparison.winner.high_s * 1.002
    assert comparison.noise == pytest.approx(0.005, rel=0.7)
    runs = {trial.config["time_ms"]: len(trial.times_s) for trial in search.trials()}
    assert runs[30] == 10
    assert runs[60] == 2
    summary = summarise(search.trials(), SPACE.default, comparison)
    assert summary.winner is not None
    assert summary.winner.config == comparison.winner.config
    assert f"leader=1\ttime_s={comparison.winner.time_s:.9f}" in leader_lines(comparison)[0]
    measured = log.read_text()
    again = run(storage, FakeBoard(log, noise=0.005))
    assert again.comparison == comparison
    assert log.read_text().count("measured") == measured.count("measured")


def test_an_idle_board_measures_the_leaders_while_others_are_built(tmp_path: Path) -> None:
    log = tmp_path / "log"
    search = Search(SPACE, "grid", 0, open_study(str(tmp_path / "j.journal"), IDENTITY, SPACE))
    loop = TuningLoop(
        search,
        BuilderPool(functools.partial(FakeBuilder, log, delay_s=0.7), jobs=1, limit_s=100),
        BoardPool([BoardSource("fake", functools.partial(FakeBoard, log, noise=0.005))]),
        budget=Budget(7),
        in_flight=2,
        repeats=2,
        deterministic=False,
        rounds_while_idle=True,
    )
    loop.run()
    lines = log.read_text().splitlines()
    last_build = max(n for n, line in enumerate(lines) if line.startswith("build"))
    runs = lines[:last_build].count("measured time_ms=10")
    assert runs > 1  # of which one belongs to its trial
    comparison = search.comparison
    assert comparison is not None
    assert comparison.winner.config == {"time_ms": 10}


def test_rounds_follow_one_another_while_nothing_waits_for_the_board(tmp_path: Path) -> None:
    log = tmp_path / "log"
    builders = BuilderPool(FakeBuilder, jobs=1, limit_s=100)
    boards = BoardPool([BoardSource("fake", functools.partial(FakeBoard, log))])
    rounds = LeaderRounds(builders, boards, TimeLimit())
    configs = [Config({"time_ms": 1}), Config({"time_ms": 2})]
    try:
        for config in configs:
            spans: list[Span] = [Span("build", "builder 1", 0.0, 60.0)]
            built = builders.build(config)
            assert not isinstance(built, BuildFailure)
            measurement = boards.measure(built, 1, 5.0, spans)
            rounds.learn(config, Outcome(measurement, built, spans=tuple(spans)))
        with ThreadPoolExecutor(1) as lanes:
            rounds.begin_early(configs, lanes)
    finally:
        builders.close()
        boards.close()
    assert log.read_text().count("measured") == len(configs) * (1 + MOST_ROUNDS)


def test_a_round_that_lacks_a_build_gives_no_times() -> None:
    builders = BuilderPool(FakeBuilder, jobs=1, limit_s=100)
    boards = BoardPool([BoardSource("fake", FakeBoard)])
    rounds = LeaderRounds(builders, boards, TimeLimit())
    right, failing = Config({"time_ms": 1}), Config({"time_ms": 2, "build": "fail"})
    try:
        assert rounds.measure([right, failing]) is None
        assert rounds.measure([right]) == [0.001]
    finally:
        builders.close()
        boards.close()


def test_more_trials_are_compared_again(tmp_path: Path) -> None:
    storage = tmp_path / "j.journal"
    assert run(storage, FakeBoard(noise=0.005), trials=3).comparison is not None
    search = Search(SPACE, "random", 0, open_study(str(storage), IDENTITY, SPACE))
    config = search.ask()
    assert config is not None
    search.tell(config, 1.0)
    assert search.comparison is not None  # too slow to lead
    config = search.ask()
    assert config is not None
    search.tell(config, 0.012)
    assert search.comparison is None


def test_on_a_deterministic_board_the_leaders_are_not_compared(tmp_path: Path) -> None:
    search = run(tmp_path / "j.journal", FakeBoard())
    assert search.comparison is None
    runs = {trial.config["time_ms"]: len(trial.times_s) for trial in search.trials()}
    assert runs == dict.fromkeys((10, 11, 20, 30, 40, 50, 60), 2)


@pytest.mark.parametrize(("gain", "stands"), [(0.001, True), (0.05, False)])
def test_the_default_wins_unless_another_is_faster_beyond_the_noise(
    gain: float, stands: bool
) -> None:
    fast, default = Config({"time_ms": 1}), Config({"time_ms": 2})
    rng = np.random.default_rng(0)

    def measure(order: Sequence[Config]) -> list[float]:
        noise = np.exp(0.01 * rng.normal(size=len(order)))
        return [
            (1 - gain if config == fast else 1.0) * n
            for config, n in zip(order, noise, strict=True)
        ]

    comparison = compare([fast, default], measure, 0, default)
    assert comparison is not None
    assert comparison.default_stands == stands
    assert comparison.winner.config == (default if stands else fast)
    assert Comparison.from_json(comparison.to_json()) == comparison


def test_a_default_loses_to_one_that_is_faster_in_each_round_if_a_third_is_faster_in_most() -> None:
    steady, varying, default = (Config({"time_ms": time_ms}) for time_ms in (1, 2, 3))
    rounds = iter(range(MOST_ROUNDS))

    def measure(order: Sequence[Config]) -> list[float]:
        number = next(rounds)
        drift = 1.0 + 0.1 * number
        times_s = {
            steady: 0.9 + 1e-4 * number,
            varying: 1.6 if number % 4 == 1 else 0.7 - 1e-4 * number,
            default: 1.0,
        }
        return [drift * times_s[config] for config in order]

    comparison = compare([steady, varying, default], measure, 0, default)
    assert comparison is not None
    assert comparison.winner.config == steady
    assert not any(c.slower_high < 0 for c in comparison.contenders)


def test_a_default_that_was_timed_is_among_the_leaders_and_what_is_far_slower_is_not(
    tmp_path: Path,
) -> None:
    space = SearchSpace(SPACE.parameters, default=Config({"time_ms": 60}))
    search = run(tmp_path / "j.journal", FakeBoard(noise=0.005), space=space)
    assert search.comparison is not None
    compared = {contender.config["time_ms"] for contender in search.comparison.contenders}
    assert compared - {20} == {10, 11, 60}


@pytest.mark.parametrize(("time_s", "told"), [(1.1, True), (0.9, False)])
def test_times_that_say_otherwise_than_rounds_are_explained(time_s: float, told: bool) -> None:
    pair = [
        Contender(Config({"x": 1}), 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, rounds=9),
        Contender(Config({"x": 2}), time_s, time_s, time_s, -0.003, -0.01, 0.01, rounds=9),
    ]
    sentences = comparison_sentences(Comparison(tuple(pair), noise=0.1))
    assert any("within each" in sentence for sentence in sentences) == told
