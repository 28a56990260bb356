"""What a prior learned from other kernels is worth: python benchmarks/search/bench_prior.py.

Prints the performance score of `auto` after 10, 25 and 50 trials with and without a learned prior,
by family of recorded spaces, and the space where the prior costs most.

The prior ranks configurations by properties that mean the same in every space. It is a ridge
regression on the spaces of the development half, without those of the family that is searched, each
family with equal weight. What it expects of 200 configurations is given to the search as the times
of an earlier study, so its weight falls as trials come, and a third of the early proposals ignores
it (docs/concepts/search.md, "Warm start").
"""

from __future__ import annotations

import argparse
import itertools
import random
from collections.abc import Sequence

import numpy as np

from engine.replays.recorded_space import Floats, RecordedSpace
from engine.replays.shipped import PARTS, family_of, shipped_files
from engine.replays.space_file import read_space
from engine.search import Search
from engine.search.model.warm_start import History
from foundation.command_line import positive_integer, run_script
from foundation.config import Config

__all__ = ["main"]

BUDGETS = (10, 25, 50)
FEWEST = 100  # configurations of a space
ROWS = 200  # configurations that the prior tells the search
PENALTY = 10.0
SEED = 20261127  # of the choice of those rows

_SIZES = ("block", "tile", "size", "wg", "wi")
_THREADS = ("num_warps", "block_size_x", "block_size_y", "block_size_z")
_STEPS = ("stages", "unroll", "split", "group")


def properties(of: RecordedSpace) -> Floats:
    """Shape (configurations, properties), standardised within the space.

    The work per program, the threads and the work per thread, each also as squared distance from
    its mean; stages, splits and groups; switches; the squared distance from the middle.
    """
    names = list(of.configs[0])
    levels = {name: sorted({str(c[name]) for c in of.configs}, key=_order) for name in names}
    rows = [_properties(config, levels) for config in of.configs]
    found = _standardised(np.array(rows))
    return _standardised(np.hstack([found, found[:, :3] ** 2]))


def _order(text: str) -> tuple[float, str]:
    try:
        return float(text), text
    except ValueError:
        return 0.0, text


def _properties(config: Config, levels: dict[str, list[str]]) -> list[float]:
    sizes = {
        name: np.log2(value)
        for name, value in config.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    }
    threads = sum(size for name, size in sizes.items() if name.lower() in _THREADS)
    work = sum(size for name, size in sizes.items() if any(s in name.lower() for s in _SIZES))
    steps = sum(size for name, size in sizes.items() if any(s in name.lower() for s in _STEPS))
    switches = sum(value in (True, 1) for value in config.values())
    places = [
        levels[name].index(str(value)) / max(1, len(levels[name]) - 1) - 0.5
        for name, value in config.items()
    ]
    return [work, threads, work - threads, steps, switches, float(np.dot(places, places))]


def _standardised(values: Floats) -> Floats:
    spread = values.std(axis=0)
    result: Floats = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return result


def targets(of: RecordedSpace) -> Floats:
    """Shape (configurations,), ranks of times as parts of the space, failures last, centred."""
    times = [np.inf if of.table[config] is None else of.table[config] for config in of.configs]
    ranks = np.argsort(np.argsort(np.array(times, dtype=float), kind="stable"))
    result: Floats = ranks / max(1, len(ranks) - 1) - 0.5
    return result


def trained(spaces: Sequence[RecordedSpace]) -> Floats:
    """Shape (properties,), the weights of the prior."""
    families = [family_of(of.about.get("kernel")) for of in spaces]
    left, right = np.zeros((0, 0)), np.zeros(0)
    for of, family in zip(spaces, families, strict=True):
        x, y = properties(of), targets(of)
        weight = 1 / (len(y) * families.count(family))
        gram, products = weight * x.T @ x, weight * x.T @ y
        left, right = (left + gram, right + products) if left.size else (gram, products)
    penalty = PENALTY / 100 * len(set(families)) * np.eye(len(right))
    result: Floats = np.asarray(np.linalg.solve(left + penalty, right), dtype=np.float64)
    return result


def history_of(of: RecordedSpace, weights: Floats) -> History:
    """What the prior tells of a space: made-up times in seconds, right up to a factor."""
    expected = properties(of) @ weights
    numbers = list(range(len(of.configs)))
    chosen = random.Random(SEED).sample(numbers, min(ROWS, len(numbers)))
    return [(of.configs[number], float(np.exp(expected[number]))) for number in chosen]


def scores(of: RecordedSpace, history: History, seeds: int) -> Floats:
    """Shape (seeds, budgets)."""
    curves = []
    for seed in range(seeds):
        search = Search(of.space, "auto", seed, history=history)
        times = []
        for _ in range(max(BUDGETS)):
            config = search.ask()
            if config is None:
                break
            time_s = of.table[config]
            search.tell(config, time_s)
            times.append(of.worst_s if time_s is None else time_s)
        best = list(itertools.accumulate(times, min))
        curves.append(best + [best[-1]] * (max(BUDGETS) - len(best)))
    return of.scores(curves)[:, [budget - 1 for budget in BUDGETS]]


def compared(half: str, seeds: int) -> None:
    """Print a line for each family of a half, and one for all."""
    known = [read_space(path) for path in shipped_files("development")]
    known = [of for of in known if len(of.table) >= FEWEST]
    families: dict[str, list[RecordedSpace]] = {}
    for path in shipped_files(half):
        of = read_space(path)
        if len(of.table) >= FEWEST:
            families.setdefault(family_of(of.about.get("kernel")), []).append(of)
    gains: dict[str, Floats] = {}
    for family, spaces in families.items():
        weights = trained([of for of in known if family_of(of.about.get("kernel")) != family])
        off = np.array([scores(of, (), seeds) for of in spaces])
        on = np.array([scores(of, history_of(of, weights), seeds) for of in spaces])
        for of, gain in zip(spaces, on - off, strict=True):
            gains[of.name] = gain
        print(f"{half}\t{family}\t{len(spaces)}\t{_row(off, on)}", flush=True)
    gained = np.array([gain.mean(axis=0) for gain in gains.values()])
    errors = gained.std(axis=0, ddof=1) / np.sqrt(len(gained))
    pairs = zip(gained.mean(axis=0), errors, strict=True)
    print(f"{half}\tall\t{len(gained)}\t" + "\t".join(f"{m:+.2f} ({e:.2f})" for m, e in pairs))
    worst = min(gains, key=lambda name: gains[name][:, 0].mean())
    lost = gains[worst].mean(axis=0)
    print(f"{half}\tworst: {worst}\t1\t" + "\t".join(f"{value:+.2f}" for value in lost))


def _row(off: Floats, on: Floats) -> str:
    """Each budget's score without and with the prior, with the standard error of the change."""
    cells = []
    for place in range(len(BUDGETS)):
        change = (on - off)[:, :, place].mean(axis=0)
        error = change.std(ddof=1) / np.sqrt(len(change))
        cells.append(f"{off[:, :, place].mean():.2f} {on[:, :, place].mean():.2f} ({error:.2f})")
    return "\t".join(cells)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Scores searches with a prior of other kernels.")
    parser.add_argument("--seeds", type=positive_integer, default=6, help="searches of each space")
    parser.add_argument("--half", choices=PARTS, default="development")
    arguments = parser.parse_args()
    print("half\tfamily\tspaces\t" + "\t".join(f"P@{budget} off, on" for budget in BUDGETS))
    compared(arguments.half, arguments.seeds)


if __name__ == "__main__":
    run_script(main)
