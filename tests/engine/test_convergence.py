"""Ending a run when little more is to be expected."""

from __future__ import annotations

import math

import pytest
from fakes import FakeBoard, FakeBuilder
from search_helpers import SPACE, run

from engine.run.budget import Budget
from engine.run.loop import TuningLoop
from engine.search import Search
from engine.search.convergence import Convergence
from engine.workers.board_pool import BoardPool
from engine.workers.board_seat import BoardSource
from engine.workers.builders import BuilderPool
from foundation.config import Config
from search_spaces.space import Parameter, SearchSpace

BOWL = SearchSpace(tuple(Parameter(f"P{p}", tuple(range(12))) for p in range(3)))


def bowl_s(config: Config) -> float:
    return math.exp(sum((int(value) - 5) ** 2 for value in config.values()) / 60)


def trials_until_converged(sampler: str, limit: int) -> tuple[int, float]:
    search = Search(BOWL, sampler, seed=1)
    convergence = Convergence(search)
    while search.tried < limit and not convergence.is_reached():
        config = search.ask()
        assert config is not None
        search.tell(config, bowl_s(config))
    best = search.best()
    assert best is not None
    return search.tried, best[1]


def test_a_search_ends_soon_after_the_optimum_of_a_bowl() -> None:
    tried, best_s = trials_until_converged("gp", 200)
    assert 30 < tried < 120
    assert best_s == 1.0


def test_whatever_the_sampler_the_model_judges() -> None:
    tried, best_s = trials_until_converged("random", 60)
    assert best_s > 1.0
    assert tried == 60


def test_the_expected_gain_falls_and_is_not_known_at_first() -> None:
    search = Search(BOWL, "gp")
    gains = []
    for _ in range(40):
        gains.append(search.expected_gain())
        config = search.ask()
        assert config is not None
        search.tell(config, bowl_s(config))
    assert gains[:3] == [None] * 3
    assert gains[5] is not None
    assert gains[-1] is not None
    assert gains[-1] < gains[5] / 10


def test_nothing_is_expected_of_an_exhausted_space_or_of_failures() -> None:
    search = Search(SPACE, "random")
    list(run(search, 10_000))
    assert search.expected_gain() == 0.0
    failing = Search(BOWL, "random")
    convergence = Convergence(failing)
    for _ in range(40):
        config = failing.ask()
        assert config is not None
        failing.tell(config, None)
        assert not convergence.is_reached()


@pytest.mark.usefixtures("workers_here")
def test_a_run_says_that_it_ended_for_that() -> None:
    space = SearchSpace((Parameter("time_ms", tuple(range(1, 61))), Parameter("x", (1, 2, 3, 4))))
    loop = TuningLoop(
        Search(space, "gp", seed=1),
        BuilderPool(FakeBuilder, jobs=1),
        BoardPool([BoardSource("fake", FakeBoard)]),
        budget=Budget(trials=200, until_converged=True),
        in_flight=2,
        repeats=1,
    )
    ended = loop.run()
    assert ended.reason == "converged"
    assert 30 < ended.tried < 200
