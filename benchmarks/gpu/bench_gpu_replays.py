"""Searches of spaces recorded on a GPU, which needs none:
python benchmarks/gpu/bench_gpu_replays.py.

Prints how many of 20 searches reach 98% of the best recorded time in 60 trials: one after another,
and with as many open at once as a study has with 15 builders.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from engine.replays.on_gpus import origin_of, recorded_on_gpus
from engine.search import Search
from foundation.config import Config
from foundation.processors import cores

TRIALS = 60
OPEN = (1, 16)
NEAR = 0.98


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--searches", type=int, default=20)
    searches = parser.parse_args().searches
    with ProcessPoolExecutor(cores(), get_context("spawn")) as pool:
        for name in (one.name for one in recorded_on_gpus() if len(one.table) > 2 * TRIALS):
            for open_at_once in OPEN:
                jobs = [pool.submit(reached, name, seed, open_at_once) for seed in range(searches)]
                parts = sorted(job.result() for job in jobs)
                near = sum(part >= NEAR for part in parts)
                print(
                    f"{name}, {open_at_once} open: {near} of {searches} reach {NEAR:.0%} of the "
                    f"best in {TRIALS} trials (goal 18 of 20); median {parts[searches // 2]:.1%}, "
                    f"worst {parts[0]:.1%}",
                    flush=True,
                )


def reached(name: str, seed: int, open_at_once: int) -> float:
    """The best recorded time over the best time that one search finds."""
    recorded = next(one for one in recorded_on_gpus() if one.name == name)
    search = Search(origin_of(recorded).space(), seed=seed)
    pending: list[Config] = []
    for _ in range(TRIALS):
        if len(pending) == open_at_once:
            _tell(search, pending.pop(0), recorded.table)
        config = search.ask()
        assert config is not None
        pending.append(config)
    for config in pending:
        _tell(search, config, recorded.table)
    best = search.best()
    assert best is not None
    return recorded.optimum_s / best[1]


def _tell(search: Search, config: Config, times_s: Mapping[Config, float | None]) -> None:
    time_s = times_s[config]
    search.tell(config, time_s, status="runtime" if time_s is None else "correct")


if __name__ == "__main__":
    main()
