"""How often the interval of a bench holds the mean: python benchmarks/search/bench_intervals.py.

Draws the leads of a search on made-up spaces, with a few searches of each, and prints in which part
of the draws the 95% interval that `rvv-tune bench` prints holds the mean of the distribution.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

import numpy as np

from engine.replays.ranks import differences
from engine.replays.recorded_space import Floats
from engine.replays.scores import Scores
from foundation.command_line import positive_integer, run_script

__all__ = ["main"]

SPACES = (5, 9, 14)
SEEDS = 5
CHANCE = 0.1  # standard deviation of a lead over searches of one space

Draw = Callable[[np.random.Generator, int], Floats]


def _few_large(rng: np.random.Generator, count: int) -> Floats:
    """One lead in five is large."""
    return np.where(rng.random(count) < 0.2, 0.8, 0.05) + rng.normal(0, 0.05, count)


# What draws leads, and their mean.
LEADS: Mapping[str, tuple[Draw, float]] = {
    "normal": (lambda rng, count: rng.normal(0.2, 0.2, count), 0.2),
    "exponential": (lambda rng, count: rng.exponential(0.2, count), 0.2),
    "log-normal": (lambda rng, count: rng.lognormal(-2, 1, count), float(np.exp(-1.5))),
    "minus log-normal": (lambda rng, count: -rng.lognormal(-2, 1, count), -float(np.exp(-1.5))),
    "one in five large": (_few_large, 0.2),
}


def held(draw: Draw, mean: float, spaces: int, repeats: int) -> float:
    """In which part of the draws the interval holds the mean."""
    rng = np.random.default_rng(0)
    names = [str(number) for number in range(spaces)]
    other = Scores("other", {name: np.zeros((SEEDS, 1)) for name in names}, {}, {}, None)
    count = 0
    for _ in range(repeats):
        leads = draw(rng, spaces)[:, None, None] + rng.normal(0, CHANCE, (spaces, SEEDS, 1))
        first = Scores("first", dict(zip(names, leads, strict=True)), {}, {}, None)
        [found] = differences([first, other], names, 1)
        assert found.low is not None
        assert found.high is not None
        count += found.low <= mean <= found.high
    return count / repeats


def main() -> None:
    """Print a line for each distribution."""
    parser = argparse.ArgumentParser(description="Coverage of the intervals of rvv-tune bench.")
    parser.add_argument("--repeats", type=positive_integer, default=200, help="draws of each")
    repeats = parser.parse_args().repeats
    print("leads\t" + "\t".join(f"{count} spaces" for count in SPACES))
    for name, (draw, mean) in LEADS.items():
        parts = [f"{held(draw, mean, count, repeats):.2f}" for count in SPACES]
        print(name + "\t" + "\t".join(parts), flush=True)


if __name__ == "__main__":
    run_script(main)
