"""What a table of another shape is worth to a search:
python benchmarks/search/bench_warm_starts.py.

Published tables hold the one fastest configuration of a shape and no times, as vLLM's and AITER's
do, or every time of a space, as Kernel Tuner's caches do. On the spaces of one kernel that were
recorded at several shapes, each shape is searched with what such a table of each other one would
tell. Prints the performance score after 10, 25 and 50 trials, where 0 is random search and 1 the
optimum at once, and how many times slower than the optimum the table's own row is.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence

import numpy as np

from engine.replays.on_gpus import recorded_on_gpus
from engine.replays.recorded_space import RecordedSpace
from engine.search import Search
from engine.search.model.warm_start import History
from foundation.command_line import run_script

__all__ = ["main"]

BUDGETS = (10, 25, 50)


def histories(table: RecordedSpace) -> dict[str, History]:
    """What is known of another shape, by a name."""
    timed = sorted(
        ((config, time_s) for config, time_s in table.table.items() if time_s is not None),
        key=lambda row: row[1],
    )
    return {
        "nothing": (),
        "one row, as vLLM's and AITER's tables": timed[:1],
        "five rows": timed[:5],
        "every time, as Kernel Tuner's caches": list(table.table.items()),
    }


def curve(of: RecordedSpace, history: History, seed: int) -> list[float]:
    """The best time in seconds after each trial."""
    search = Search(of.space, "auto", seed, history=history)
    times = []
    for _ in range(max(BUDGETS)):
        config = search.ask()
        assert config is not None
        time_s = of.table[config]
        search.tell(config, time_s)
        times.append(of.worst_s if time_s is None else time_s)
    return list(itertools.accumulate(times, min))


def pairs(replays: Sequence[RecordedSpace]) -> list[tuple[RecordedSpace, RecordedSpace]]:
    """A space and another shape's of the same parameters, each way."""
    return [
        (one, other)
        for one, other in itertools.permutations(replays, 2)
        if list(next(iter(one.table))) == list(next(iter(other.table)))
    ]


def main() -> None:
    """Print a line for each kind of table."""
    parser = argparse.ArgumentParser(description="Scores searches that start from tables.")
    parser.add_argument("--seeds", type=int, default=4, help="searches for each pair of shapes")
    seeds = parser.parse_args().seeds
    chosen = pairs([one for one in recorded_on_gpus() if one.name.startswith("matmul-")])
    found: dict[str, list[np.ndarray]] = {}
    for of, table in chosen:
        for name, history in histories(table).items():
            scores = of.scores([curve(of, history, seed) for seed in range(seeds)])
            found.setdefault(name, []).append(scores[:, [budget - 1 for budget in BUDGETS]])
    for name, parts in found.items():
        rows = np.concatenate(parts)
        errors = rows.std(axis=0, ddof=1) / np.sqrt(len(rows))
        cells = [
            f"P@{budget} {score:.2f} ({error:.2f})"
            for budget, score, error in zip(BUDGETS, rows.mean(axis=0), errors, strict=True)
        ]
        print(f"{name:40}", *cells, flush=True)
    slower = []
    for of, table in chosen:
        time_s = of.table.get(min(table.table, key=lambda config: table.table[config] or np.inf))
        slower.append(np.inf if time_s is None else time_s / of.optimum_s)
    print("the table's row without a search:", ", ".join(f"{ratio:.2f}x" for ratio in slower))


if __name__ == "__main__":
    run_script(main)
