"""How much a history helps a search: python benchmarks/search/search_history.py.

Each space of Kernel Tuner's hub that has sisters (the same kernel and parameters, recorded on
another device) is searched without a history; with a history from each sister in turn: the trials
of a study, its five best, or the whole space; and with a misleading history: the space's own times
inverted, so that the best are the worst, or shuffled.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from engine.replays.recorded_space import Floats, RecordedSpace
from engine.replays.shipped import SPACES
from engine.replays.space_file import read_space
from engine.search import Search
from engine.search.model.warm_start import History
from foundation.command_line import run_script

__all__ = ["main"]

BUDGETS = (25, 50)


def history_of(of: RecordedSpace, trials: int, seed: int) -> History:
    """The trials of a search of a recorded space."""
    search = Search(of.space, "auto", seed)
    for _ in range(trials):
        config = search.ask()
        assert config is not None
        search.tell(config, of.table[config])
    return [(trial.config, trial.time_s) for trial in search.trials()]


def five_best(of: RecordedSpace) -> History:
    """The five fastest configurations of a recorded space."""
    return sorted((row for row in of.table.items() if row[1]), key=lambda row: row[1] or 0)[:5]


def upside_down(of: RecordedSpace) -> History:
    """A whole table with inverted times."""
    return [(config, None if t is None else 1 / t) for config, t in of.table.items()]


def shuffled(of: RecordedSpace, seed: int) -> History:
    """A whole table with shuffled times."""
    configs, times_s = zip(*of.table.items(), strict=True)
    order = np.random.default_rng(seed).permutation(len(times_s))
    return [(config, times_s[place]) for config, place in zip(configs, order, strict=True)]


def scores(of: RecordedSpace, histories: Sequence[History]) -> Floats:
    """P@ each budget, averaged over one run with each history."""
    curves = []
    apart = sum(map(ord, of.name)) % 1000  # spaces draw independently
    numbers = {config: number for number, config in enumerate(of.configs)}
    for seed, history in enumerate(histories):
        search = Search(of.space, "auto", 1000 * seed + apart, history=history)
        tried: list[int] = []
        while len(tried) < max(BUDGETS) and (config := search.ask()) is not None:
            search.tell(config, of.table[config])
            tried.append(numbers[config])
        curves.append(of.best_so_far(tried, max(BUDGETS)))
    means: Floats = of.scores(np.array(curves)).mean(axis=0)[[budget - 1 for budget in BUDGETS]]
    return means


def histories(
    of: RecordedSpace, sisters: Sequence[RecordedSpace], arguments: argparse.Namespace
) -> dict[str, list[History]]:
    """The history of each run, by kind; the runs use the sisters in turn."""
    seeds = range(arguments.seeds)
    turns = [(sisters[seed % len(sisters)], seed) for seed in seeds]
    return {
        "none": [() for _ in seeds],
        "sister's study": [history_of(s, arguments.trials, 100 + seed) for s, seed in turns],
        "sister's best": [five_best(sister) for sister, _ in turns],
        "sister's all": [list(sister.table.items()) for sister, _ in turns],
        "upside down": [upside_down(of) for _ in seeds],
        "shuffled": [shuffled(of, seed) for seed in seeds],
    }


def main() -> None:
    """Print a line for each space and history, and the means."""
    parser = argparse.ArgumentParser(description="Scores searches with a history.")
    parser.add_argument("--seeds", type=int, default=12, help="runs per space")
    parser.add_argument("--trials", type=int, default=100, help="of a study used as history")
    arguments = parser.parse_args()
    spaces = [read_space(path) for path in sorted(SPACES.glob("benchmark-hub/*.json.gz"))]
    print("space                           history          ", *(f"P@{b:<4}" for b in BUDGETS))
    table: dict[str, list[Floats]] = {}
    for of in spaces:
        parameters = of.space.parameters
        sisters = [o for o in spaces if o is not of and o.space.parameters == parameters]
        if not sisters:
            continue
        for name, chosen in histories(of, sisters, arguments).items():
            table.setdefault(name, []).append(scores(of, chosen))
            print_line(of.name, name, table[name][-1])
    for name, rows in table.items():
        print_line("MEAN", name, np.mean(rows, axis=0))


def print_line(space: str, history: str, row: Floats) -> None:
    """One line of the table."""
    print(f"{space:31} {history:16} " + " ".join(f"{score:6.3f}" for score in row), flush=True)


if __name__ == "__main__":
    run_script(main)
