"""How often a search finds a space's optimum: python benchmarks/bench_optimum.py.

`record_space.py` has recorded the whole spaces on the emulated board. For each space and sampler,
it prints in how many seeds the best of the trials reaches 98 percent of the optimum's speed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from engine.search import Search
from foundation.config import Config
from search_spaces.space import SearchSpace

__all__ = ["main"]

RECORDED = Path(__file__).parent / "recorded"
ENOUGH = 0.98


Table = Mapping[Config, float | None]


def read(path: Path) -> tuple[SearchSpace, Table]:
    """A space, and times in seconds by configuration; None for a failure."""
    recorded = json.loads(path.read_text())
    names = recorded["parameters"]
    table = {Config(dict(zip(names, row[:-1], strict=True))): row[-1] for row in recorded["rows"]}
    space = SearchSpace.from_configs(table)
    return replace(space, default=Config(recorded["default"])), table


def reached(space: SearchSpace, table: Table, sampler: str, seed: int, trials: int) -> float:
    """The optimum's time over the time of the best of the trials."""
    search = Search(space, sampler, seed)
    while search.tried < trials and (config := search.ask()) is not None:
        search.tell(config, table[config])
    best = search.best()
    optimum = min(time_s for time_s in table.values() if time_s is not None)
    return 0.0 if best is None else optimum / best[1]


def main() -> None:
    """Print a line for each space and sampler."""
    parser = argparse.ArgumentParser(description="Searches recorded spaces.")
    parser.add_argument("--samplers", default="auto,random", help="names, separated by commas")
    parser.add_argument("--trials", type=int, default=50, help="configurations to try")
    parser.add_argument("--seeds", type=int, default=20, help="searches")
    arguments = parser.parse_args()
    for path in sorted(RECORDED.glob("*.json")):
        space, table = read(path)
        for sampler in arguments.samplers.split(","):
            shares = [
                reached(space, table, sampler, seed, arguments.trials)
                for seed in range(arguments.seeds)
            ]
            enough = sum(share >= ENOUGH for share in shares)
            print(
                f"{path.stem} ({len(table)} configurations), {sampler}, {arguments.trials} trials: "
                f"{enough} of {len(shares)} seeds reach {ENOUGH:.0%}, the worst {min(shares):.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
