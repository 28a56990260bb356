"""Compares samplers on made-up spaces: python benchmarks/made_up_spaces.py.

The spaces have cliffs and failures. They differ from the recorded ones on which samplers are
usually judged, so that a choice that suits only those shows. For each sampler, it prints how far
the best time so far is from the optimum, as a logarithm (0.1 is a tenth slower), averaged over
trials, spaces and seeds.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import time
from collections.abc import Iterator, Mapping

import numpy as np

from engine.search import Search
from foundation.config import Config
from search_spaces.space import SearchSpace

__all__ = ["main"]

Table = Mapping[Config, float | None]

# The early part of a search, in trials.
_EARLY = slice(5, 25)


def tiles(seed: int) -> Table:
    """A tiled kernel on many threads: occupancy falls in steps, and too many registers fail."""
    rng = np.random.default_rng(seed)
    memory, bank, compute, width = rng.uniform(0.5, 2, 4)
    table: dict[Config, float | None] = {}
    names = ("threads_x", "threads_y", "tile_x", "tile_y", "shared", "padded", "stages")
    values = ((16, 32, 64, 128, 256), (1, 2, 4, 8), (1, 2, 4, 8), (1, 2, 4, 8), *[(0, 1)] * 2)
    for row in itertools.product(*values, (1, 2, 3)):
        config = Config(dict(zip(names, row, strict=True)))
        x, y, tile_x, tile_y, shared, padded, stages = row
        registers = 16 + 3 * width * tile_x * tile_y + 4 * stages * shared
        resident = math.floor(65536 / (registers * x * y)) * x * y / 2048
        if registers > 160 or resident == 0:
            table[config] = None
            continue
        reuse = math.sqrt(tile_x * tile_y) * (1 + 0.5 * shared) * (1 + 0.1 * (stages - 1) * shared)
        conflicts = 1 + 0.5 * bank * (shared and not padded and x in (32, 64))
        loads = memory * (1 + (x < 32)) * conflicts / reuse
        sums = compute * (0.3 + 0.7 / min(1.0, 2 * resident))
        table[config] = (max(4 * loads, sums) + 0.3 * sums) * math.exp(rng.normal(0, 0.03))
    return table


def blocks(seed: int) -> Table:
    """A blocked kernel on a vector core: registers spill, and caches overflow."""
    rng = np.random.default_rng(seed)
    cache = 2.0 ** rng.integers(11, 15)
    lanes = 2 ** int(rng.integers(2, 5))
    best_rows = rng.uniform(2, 5)
    table: dict[Config, float | None] = {}
    sizes = [2**power for power in range(9)]
    for m, n, k, group, packed in itertools.product(sizes, sizes, sizes, (1, 2, 4, 8), (0, 1)):
        elements = m * k + k * n
        if not 16 <= m * n <= 2**14 or elements > 2**16:
            continue
        compute = 1 + 6 / min(k, 64) + 1.5 * max(0, lanes / n - 1)
        compute += 0.15 * abs(math.log2(m) - best_rows)
        spills = 1 + 0.2 * max(0.0, math.log2(m * n) - 10) + 0.1 * (m * n > 512)
        misses = 1 + 0.35 * max(0.0, math.log2(elements / cache))
        order = 0.05 * abs(math.log2(group) - 2) * (elements > cache)
        packing = 1 + packed * (0.1 * (n < 64) - 0.15 * (elements > cache))
        config = Config({"M": m, "N": n, "K": k, "GROUP": group, "PACKED": packed})
        noise = math.exp(rng.normal(0, 0.02))
        table[config] = compute * spills * (misses + order) * packing * noise
    return table


def effects(seed: int) -> Table:
    """Effects of single parameters, some with named values, and of pairs; a corner fails."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(3, 8, 6)
    alone = [rng.gamma(1, 0.5) * rng.normal(size=count) for count in counts[:3]]
    alone += [4 * (np.linspace(0, 1, count) - rng.random()) ** 2 for count in counts[3:]]
    pairs = {
        (a, b): rng.gamma(1, 0.15) * rng.normal(size=(counts[a], counts[b]))
        for a, b in itertools.combinations(range(6), 2)
        if rng.random() < 0.4
    }
    table: dict[Config, float | None] = {}
    for ranks in itertools.product(*map(range, counts)):
        named = [f"v{rank}" for rank in ranks[:3]]
        values: list[int | str] = [*named, *ranks[3:]]
        config = Config({f"P{p}": value for p, value in enumerate(values)})
        sums = sum(effect[rank] for effect, rank in zip(alone, ranks, strict=True))
        sums += sum(effect[ranks[a], ranks[b]] for (a, b), effect in pairs.items())
        fails = ranks[3] == 0 and ranks[4] == counts[4] - 1
        table[config] = None if fails else math.exp(sums + rng.normal(0, 0.03))
    return table


def regrets(table: Table, space: SearchSpace, sampler: str, seed: int, trials: int) -> list[float]:
    """After each trial, the logarithm of best time over optimum; a failure counts as slowest."""
    times_s = [seconds for seconds in table.values() if seconds is not None]
    search = Search(space, sampler, seed)
    best, result = max(times_s), []
    for config in itertools.islice(_asked(search), trials):
        seconds = table[config]
        search.tell(config, seconds)
        best = min(best, best if seconds is None else seconds)
        result.append(math.log(best / min(times_s)))
    return result


def _asked(search: Search) -> Iterator[Config]:
    while (config := search.ask()) is not None:
        yield config


def main() -> int:
    """Print a line for each sampler."""
    parser = argparse.ArgumentParser(description="Compares samplers on made-up spaces.")
    parser.add_argument("--samplers", default="auto,gp,tpe,ga,random", help="names, with commas")
    parser.add_argument("--trials", type=int, default=100, help="configurations to try")
    parser.add_argument("--seeds", type=int, default=5, help="runs per space")
    arguments = parser.parse_args()
    tables = [make(seed) for make in (tiles, blocks, effects) for seed in range(2)]
    spaces = [SearchSpace.from_configs(table) for table in tables]
    print(f"{'sampler':8} {'trials 6-25':>12} {'26-' + str(arguments.trials):>8} {'s/trial':>8}")
    for sampler in arguments.samplers.split(","):
        start = time.perf_counter()
        curves = np.array(
            [
                regrets(table, space, sampler, seed, arguments.trials)
                for table, space in zip(tables, spaces, strict=True)
                for seed in range(arguments.seeds)
            ]
        )
        seconds = (time.perf_counter() - start) / curves.size
        early, late = curves[:, _EARLY].mean(), curves[:, _EARLY.stop :].mean()
        print(f"{sampler:8} {early:12.3f} {late:8.3f} {seconds:8.4f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
