"""Finds the best of noisy configurations with few runs: python benchmarks/search/bench_racing.py.

It searches a made-up space of a blocked kernel (`made_up_spaces.blocks`), whose times have
heavy-tailed noise. Fixed repeats choose the lowest median of ten runs each. Racing runs each
configuration only as often as needed, and measures the leaders again in turns. It prints
in how many seeds the winner is within two percent of the fastest tried configuration, by times
without noise, and the number of runs. The last line says how often the confidence interval of the
winner's time contains that time.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from made_up_spaces import Table, blocks

from engine.repeats.comparison import compare, leaders
from engine.repeats.racing import Race
from engine.search import Search
from foundation.command_line import run_script
from foundation.config import Config
from rvv_runner.measurement import Measurement
from search_spaces.space import SearchSpace

__all__ = ["main"]

REPEATS = 10


@dataclass
class NoisyBoard:
    """A table whose times have heavy-tailed noise: Student's t with 3 degrees of freedom.

    Args:
        table: times without noise.
        rng: random generator for the noise.
        noise: standard deviation of the logarithm of one run.
        runs: number of timed runs so far.
    """

    table: Table
    rng: np.random.Generator
    noise: float
    runs: int = 0

    def time_s(self, config: Config) -> float:
        """One timed run."""
        self.runs += 1
        deviation = self.rng.standard_t(3) / math.sqrt(3)
        return self.truth_s(config) * math.exp(self.noise * deviation)

    def truth_s(self, config: Config) -> float:
        """The time without noise."""
        time_s = self.table[config]
        assert time_s is not None
        return time_s

    def measure(self, config: Config, runs: int) -> Measurement:
        """The measurement of that many timed runs."""
        return Measurement("correct", tuple(self.time_s(config) for _ in range(runs)))


@dataclass(frozen=True)
class Result:
    """One search.

    Args:
        excess: how much slower the winner is than the fastest tried, without noise.
        runs: total number of timed runs.
        held: whether the winner's interval contains its time; None if there is no interval.
    """

    excess: float
    runs: int
    held: bool | None = None


def fixed(board: NoisyBoard, search: Search, trials: int) -> Result:
    """A search with ten runs each, in which the lowest median wins."""
    for _ in range(trials):
        config = search.ask()
        assert config is not None
        search.tell(config, board.measure(config, REPEATS).time_s)
    best = search.best()
    assert best is not None
    return Result(_excess(board, search, best[0]), board.runs)


def raced(board: NoisyBoard, search: Search, trials: int, seed: int) -> Result:
    """A search with racing, as in the tuning loop."""
    race = Race(REPEATS)
    for _ in range(trials):
        config = search.ask()
        assert config is not None
        measurement = race.measure(partial(board.measure, config))
        race.learn(measurement.times_s)
        search.tell(config, measurement.time_s, attributes={"times_s": measurement.times_s})
    tried = search.trials()
    comparison = compare(
        leaders(tried), lambda order: [board.time_s(config) for config in order], seed
    )
    assert comparison is not None
    winner = comparison.winner
    held = winner.low_s <= board.truth_s(winner.config) <= winner.high_s
    return Result(_excess(board, search, winner.config), board.runs, held)


def _excess(board: NoisyBoard, search: Search, winner: Config) -> float:
    best_s = min(board.truth_s(trial.config) for trial in search.trials())
    return board.truth_s(winner) / best_s - 1


def main() -> None:
    """Print a line for fixed repeats, one for racing, and one on the intervals."""
    parser = argparse.ArgumentParser(description="Compares racing with fixed repeats.")
    parser.add_argument("--trials", type=int, default=50, help="configurations to try")
    parser.add_argument("--seeds", type=int, default=20, help="searches")
    parser.add_argument("--noise", type=float, default=0.05, help="of one run: 0.05 is 5 percent")
    arguments = parser.parse_args()
    seeds = range(arguments.seeds)
    table = blocks(0)
    space = SearchSpace.from_configs(table)

    def parts(seed: int) -> tuple[NoisyBoard, Search]:
        board = NoisyBoard(table, np.random.default_rng(seed), arguments.noise)
        return board, Search(space, "auto", seed)

    by_name = {
        "fixed": [fixed(*parts(seed), arguments.trials) for seed in seeds],
        "raced": [raced(*parts(seed), arguments.trials, seed) for seed in seeds],
    }
    for name, results in by_name.items():
        print(f"{name}: {_within(results)} of {len(results)} winners within 2%, {_runs(results)}")
    held = sum(bool(result.held) for result in by_name["raced"])
    print(f"the winner's 95% interval contains its time in {held} of {arguments.seeds}")


def _within(results: Sequence[Result]) -> int:
    return sum(result.excess <= 0.02 for result in results)


def _runs(results: Sequence[Result]) -> str:
    return f"{statistics.mean(result.runs for result in results):.0f} runs"


if __name__ == "__main__":
    run_script(main)
