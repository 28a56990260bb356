"""Made-up spaces, in families: python benchmarks/search/made_up_spaces.py FOLDER writes some as T4.

No device measured their times. They differ from the recorded spaces on which samplers are usually
judged, so a choice that suits only those shows: `rvv-tune bench --spaces FOLDER` replays them. A
table maps each valid configuration to its time in seconds, None for a failure.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
from gpu_products import product_table

from engine.replays.space_file import Result, write_space
from foundation.command_line import run_script
from foundation.config import Config

__all__ = ["FAMILIES", "Table", "main"]

Table = Mapping[Config, float | None]


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
    alone = [rng.gamma(2, 0.2) * rng.normal(size=count) for count in counts[:3]]
    alone += [2 * (np.linspace(0, 1, count) - rng.random()) ** 2 for count in counts[3:]]
    pairs = {
        (a, b): rng.gamma(2, 0.1) * rng.normal(size=(counts[a], counts[b]))
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


def valley(seed: int) -> Table:
    """A narrow curved valley: only the right products of three sizes are fast."""
    rng = np.random.default_rng(seed)
    area, depth, slant = rng.uniform(6, 10), rng.uniform(6, 10), rng.uniform(-0.4, 0.4, 2)
    table: dict[Config, float | None] = {}
    for a, b, c, d in itertools.product(range(1, 9), range(1, 9), range(1, 9), range(5)):
        off = abs(a + b - area) + 0.7 * abs(b + c - depth)
        along = (slant[0] * (a - 4) + slant[1] * (c - 4)) / 4 + 0.06 * (d - 2) ** 2
        config = Config({"A": 2**a, "B": 2**b, "C": 2**c, "UNROLL": d + 1})
        table[config] = math.exp(0.35 * off + along + rng.normal(0, 0.02))
    return table


def cliffs(seed: int) -> Table:
    """Steps where a resource runs out, and remainders where a size does not divide."""
    rng = np.random.default_rng(seed)
    problem = int(rng.choice([768, 960, 1024, 1200, 1536]))
    limits = 2.0 ** rng.uniform(9, 15, 3)
    drops = rng.uniform(0.3, 1.5, 3)
    table: dict[Config, float | None] = {}
    widths, heights = range(16, 321, 16), range(1, 13)
    for width, height, unroll, vector in itertools.product(
        widths, heights, (1, 2, 3, 4), (1, 2, 4)
    ):
        used = (width * height, width * unroll * vector * 4, height * unroll * vector * 64)
        steps = sum(drop * (u > limit) for u, limit, drop in zip(used, limits, drops, strict=True))
        idle = math.ceil(problem / width) * width / problem * math.ceil(96 / height) * height / 96
        work = idle * (1 + 24 / (height * unroll)) * (1 + 0.4 * (width % (32 * vector) > 0))
        config = Config({"WIDTH": width, "HEIGHT": height, "UNROLL": unroll, "VECTOR": vector})
        table[config] = work * math.exp(steps + rng.normal(0, 0.02)) / math.sqrt(vector)
    return table


def conditional(seed: int) -> Table:
    """Choices of an algorithm, each with parameters that only it has."""
    rng = np.random.default_rng(seed)
    base, best = rng.uniform(0, 0.8, 3), rng.uniform(0, 1, (3, 4))
    steep = rng.uniform(0.5, 3, (3, 4))
    table: dict[Config, float | None] = {}
    for a, tile, width, depth, order in itertools.product(
        range(3), *[range(6)] * 2, range(4), range(3)
    ):
        if (a == 0 and depth > 0) or (a != 2 and order > 0):
            continue
        place = np.array([tile / 5, width / 5, depth / 3, order / 2])
        counts = np.array([True, True, a > 0, a == 2])
        off = (steep[a] * (place - best[a]) ** 2)[counts].sum()
        names = ("direct", "tiled", "packed")
        config = Config(
            {
                "ALGORITHM": names[a],
                "TILE": 2**tile,
                "WIDTH": 2**width,
                "DEPTH": depth,
                "ORDER": order,
            }
        )
        table[config] = math.exp(base[a] + off + rng.normal(0, 0.03))
    return table


def a_third_fails(seed: int) -> Table:
    """Smooth times; beyond a bound that runs close to the optimum, configurations fail."""
    rng = np.random.default_rng(seed)
    best, steep = rng.uniform(0.3, 0.9, 5), rng.uniform(0.5, 4, 5)
    weights = rng.uniform(0.2, 1, 5)
    ranks = np.array(list(itertools.product(range(7), range(7), range(5), range(4), range(4))))
    places = ranks / [6, 6, 4, 3, 3]
    bound = np.quantile(places @ weights, 0.7)
    table: dict[Config, float | None] = {}
    for row, place in zip(ranks.tolist(), places, strict=True):
        off = (steep * (place - best) ** 2).sum() + 0.8 * abs(place[0] - place[1])
        config = Config({f"P{p}": 2**rank for p, rank in enumerate(row)})
        fails = place @ weights > bound
        table[config] = None if fails else math.exp(off + rng.normal(0, 0.03))
    return table


def one_region(seed: int) -> Table:
    """Only one small region works; its place cannot be known before."""
    rng = np.random.default_rng(seed)
    centre = rng.uniform(0.15, 0.85, 4)
    ranks = np.array(list(itertools.product(*[range(8)] * 4)))
    off = np.abs(ranks / 7 - centre).max(axis=1)
    bound = np.quantile(off, 0.05)
    table: dict[Config, float | None] = {}
    for row, distance, place in zip(ranks.tolist(), off, ranks / 7, strict=True):
        config = Config({f"P{p}": rank for p, rank in enumerate(row)})
        time_s = 9 + 20 * ((place - centre - 0.1) ** 2).sum() + rng.normal(0, 0.1)
        table[config] = time_s if distance <= bound else None
    return table


def random_failures(seed: int, part: float = 0.95) -> Table:
    """So many fail at random: nothing can be learned of failures."""
    rng = np.random.default_rng(seed)
    table = dict(blocks(seed))
    fails = rng.random(len(table)) < part
    return {
        config: None if failed else time_s
        for (config, time_s), failed in zip(table.items(), fails, strict=True)
    }


def spike(seed: int) -> Table:
    """A gentle slope, and elsewhere one narrow spike: the optimum's neighbours do not show it."""
    rng = np.random.default_rng(seed)
    counts = (7, 7, 6, 5, 3)
    ranks = np.array(list(itertools.product(*map(range, counts))))
    places = ranks / (np.array(counts) - 1)
    best, steep = rng.uniform(0, 1, 5), rng.uniform(0.1, 0.6, 5)
    peak = ranks[rng.integers(len(ranks))]
    steps = np.abs(ranks - peak).sum(axis=1)
    logarithms = (steep * (places - best) ** 2).sum(axis=1)
    logarithms -= np.select([steps == 0, steps == 1], [0.9, 0.45])
    logarithms += rng.normal(0, 0.02, len(ranks))
    return {
        Config({f"P{p}": 2**rank for p, rank in enumerate(row)}): math.exp(value)
        for row, value in zip(ranks.tolist(), logarithms.tolist(), strict=True)
    }


def mirrored(seed: int) -> Table:
    """Two valleys, each the other's mirror image, and one of them is up to a fifth slower."""
    rng = np.random.default_rng(seed)
    low, high = rng.uniform(0.5, 2.5), rng.uniform(5, 7.5)
    slower, height = rng.uniform(0.05, 0.2), rng.uniform(0.15, 0.4)
    best, steep = rng.uniform(0, 1, 2), rng.uniform(0.3, 1.0, 2)
    table: dict[Config, float | None] = {}
    for x, y, unroll, stages in itertools.product(range(9), range(9), range(6), range(4)):
        one = height * (abs(x - low) + abs(y - high))
        other = height * (abs(x - high) + abs(y - low)) + slower
        place = np.array([unroll / 5, stages / 3])
        off = min(one, other) + (steep * (place - best) ** 2).sum()
        config = Config({"X": 2**x, "Y": 2**y, "UNROLL": unroll + 1, "STAGES": stages})
        table[config] = math.exp(off + rng.normal(0, 0.02))
    return table


def named(seed: int) -> Table:
    """Mostly named values, in tens of thousands of combinations, and pairs of them interact."""
    rng = np.random.default_rng(seed)
    counts = (6, 5, 4, 3, 2)
    alone = [rng.gamma(2, 0.12) * rng.normal(size=count) for count in counts]
    pairs = {
        pair: 0.15 * rng.normal(size=(counts[pair[0]], counts[pair[1]]))
        for pair in itertools.combinations(range(len(counts)), 2)
        if rng.random() < 0.5
    }
    optimum = rng.uniform(0, 9, counts[0])  # the best block size depends on the first name
    table: dict[Config, float | None] = {}
    for row in itertools.product(*map(range, counts)):
        sums = sum(effect[rank] for effect, rank in zip(alone, row, strict=True))
        sums += sum(effect[row[a], row[b]] for (a, b), effect in pairs.items())
        names = {f"P{p}": f"v{rank}" for p, rank in enumerate(row)}
        for block, tile in itertools.product(range(10), range(4)):
            off = 0.02 * (block - optimum[row[0]]) ** 2 + 0.1 * abs(tile - 1.5)
            config = Config({**names, "BLOCK": 32 * (block + 1), "TILE": tile + 1})
            table[config] = math.exp(sums + off + rng.normal(0, 0.03))
    return table


# A family is a function from a seed to a table.
FAMILIES: Mapping[str, Callable[[int], Table]] = {
    "products_fp16": partial(product_table, element_bytes=2),
    "products_fp8": partial(product_table, element_bytes=1),
    "tiles": tiles,
    "blocks": blocks,
    "effects": effects,
    "valley": valley,
    "cliffs": cliffs,
    "conditional": conditional,
    "a_third_fails": a_third_fails,
    "one_region": one_region,
    "spike": spike,
    "mirrored": mirrored,
    "named": named,
    "half_fails": partial(random_failures, part=0.5),
    "most_fails": partial(random_failures, part=0.8),
    "random_failures": random_failures,
    "nearly_all_fails": partial(random_failures, part=0.99),
}


def main() -> None:
    """Write spaces of each family as files."""
    parser = argparse.ArgumentParser(description="Writes made-up spaces as T4.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--per-family", type=int, default=2)
    parser.add_argument("--first", type=int, default=0, help="seed of the first of each family")
    arguments = parser.parse_args()
    for family in arguments.families:
        for seed in range(arguments.first, arguments.first + arguments.per_family):
            results = {
                config: Result(time_s, "runtime" if time_s is None else "correct")
                for config, time_s in FAMILIES[family](seed).items()
            }
            path = arguments.folder / f"{family}-{seed}.json.gz"
            write_space(path, {"kernel": family, "seed": seed}, results)
            print(path)


if __name__ == "__main__":
    run_script(main)
