"""How often a search comes close to a space's optimum: python benchmarks/search/bench_optimum.py.

`record_space.py` has recorded the spaces on the emulated board, and `record_gpu_space.py` on a GPU.
For each space and sampler, it prints in how many seeds the best of the trials is within 5 percent
of the optimum, with the kernel's default as the first trial and without it.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from replays import recorded

from engine.replays.recorded_space import RecordedSpace
from engine.search import Search
from foundation.command_line import run_script
from search_spaces.space import SearchSpace

__all__ = ["main"]

ENOUGH = 1 / 1.05


def reached(of: RecordedSpace, space: SearchSpace, sampler: str, seed: int, trials: int) -> float:
    """The optimum's time over the time of the best of the trials."""
    search = Search(space, sampler, seed)
    while search.tried < trials and (config := search.ask()) is not None:
        search.tell(config, of.table[config])
    best = search.best()
    return 0.0 if best is None else of.optimum_s / best[1]


def main() -> None:
    """Print two lines for each space and sampler."""
    parser = argparse.ArgumentParser(description="Searches recorded spaces.")
    parser.add_argument("--samplers", default="auto,random", help="names, separated by commas")
    parser.add_argument("--trials", type=int, default=25, help="configurations to try")
    parser.add_argument("--seeds", type=int, default=20, help="searches")
    arguments = parser.parse_args()
    for of in recorded(fewest=arguments.trials + 1):
        spaces = {"no default": of.space, "default first": replace(of.space, default=of.default)}
        for sampler in arguments.samplers.split(","):
            for about, space in spaces.items():
                shares = [
                    reached(of, space, sampler, seed, arguments.trials)
                    for seed in range(arguments.seeds)
                ]
                enough = sum(share >= ENOUGH for share in shares)
                print(
                    f"{of.name} ({len(of.table)} configurations), {sampler}, {about}, "
                    f"{arguments.trials} trials: {enough} of {len(shares)} within 5%, "
                    f"the worst at {min(shares):.1%} of the optimum's speed",
                    flush=True,
                )


if __name__ == "__main__":
    run_script(main)
