"""How much a history helps a search: python benchmarks/search_history.py SCORE_PY SPACES.

SCORE_PY is the tool that `search_quality.py` runs, and SPACES the folder of recorded spaces; both
are outside this project. Each space that has sisters (the same kernel and parameters, recorded on
another device) is searched without a history; with a history from each sister in turn: the trials
of a study, its five best, or the whole space; and with a misleading history: the space's own times
inverted, so that the best are the worst, or shuffled.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from search_quality import Optimiser, optimiser

from engine.search import Search
from engine.search.model.warm_start import History
from search_spaces.space import SearchSpace

__all__ = ["main"]

BUDGETS = (25, 50)


def history_of(record: Any, trials: int, seed: int) -> History:
    """The trials of a search of a recorded space."""
    names = list(record.params)
    table = record.table
    space = SearchSpace.from_configs(dict(zip(names, values, strict=True)) for values in table)
    search = Search(space, "auto", seed)
    for _ in range(trials):
        config = search.ask()
        assert config is not None
        search.tell(config, table[tuple(config[name] for name in names)])
    return [(trial.config, trial.time_s) for trial in search.trials()]


def table_of(record: Any) -> list[tuple[dict[str, Any], float | None]]:
    """The whole table of a recorded space."""
    names = list(record.params)
    return [(dict(zip(names, values, strict=True)), t) for values, t in record.table.items()]


def five_best(record: Any) -> History:
    """The five fastest configurations of a recorded space."""
    return sorted((row for row in table_of(record) if row[1]), key=lambda row: row[1] or 0)[:5]


def upside_down(record: Any) -> History:
    """A whole table with inverted times."""
    return [(config, None if t is None else 1 / t) for config, t in table_of(record)]


def shuffled(record: Any, seed: int) -> History:
    """A whole table with shuffled times."""
    configs, times_s = zip(*table_of(record), strict=True)
    order = np.random.default_rng(seed).permutation(len(times_s))
    return [(config, times_s[place]) for config, place in zip(configs, order, strict=True)]


def scores(tool: Any, record: Any, histories: Sequence[History]) -> np.ndarray:
    """P@ each budget, averaged over one run with each history."""

    def factory(history: History) -> Callable[[Any, int], Optimiser]:
        return lambda space, seed: optimiser(
            "auto", SearchSpace.from_configs(space.valid_configs()), seed, history
        )

    apart = sum(map(ord, record.name)) % 1000  # spaces draw independently
    runs = [
        tool.replay(record, factory(history), 1000 * seed + apart, max(BUDGETS), True)[:2]
        for seed, history in enumerate(histories)
    ]
    metrics = tool.metrics(record, runs, list(BUDGETS), "evals")
    return np.array([metrics[budget][0] for budget in BUDGETS])


def histories(
    record: Any, sisters: Sequence[Any], arguments: argparse.Namespace
) -> dict[str, list[History]]:
    """The history of each run, by kind; the runs use the sisters in turn."""
    seeds = range(arguments.seeds)
    turns = [(sisters[seed % len(sisters)], seed) for seed in seeds]
    return {
        "none": [() for _ in seeds],
        "sister's study": [history_of(s, arguments.trials, 100 + seed) for s, seed in turns],
        "sister's best": [five_best(sister) for sister, _ in turns],
        "sister's all": [table_of(sister) for sister, _ in turns],
        "upside down": [upside_down(record) for _ in seeds],
        "shuffled": [shuffled(record, seed) for seed in seeds],
    }


def main() -> int:
    """Print a line for each space and history, and the means."""
    parser = argparse.ArgumentParser(description="Scores searches with a history.")
    parser.add_argument("score_py", type=Path, help="the tool that replays and scores")
    parser.add_argument("spaces", type=Path, help="folder of recorded spaces")
    parser.add_argument("--seeds", type=int, default=12, help="runs per space")
    parser.add_argument("--trials", type=int, default=100, help="of a study used as history")
    arguments = parser.parse_args()
    tool = load(arguments.score_py)
    records = [tool.Record(path) for path in sorted(arguments.spaces.glob("*.json.gz"))]
    print("space            history          " + " ".join(f"P@{budget:<4}" for budget in BUDGETS))
    table: dict[str, list[np.ndarray]] = {}
    for record in records:
        sisters = [r for r in records if r is not record and r.params == record.params]
        if not sisters:
            continue
        for name, chosen in histories(record, sisters, arguments).items():
            table.setdefault(name, []).append(scores(tool, record, chosen))
            print_line(record.name, name, table[name][-1])
    for name, rows in table.items():
        print_line("MEAN", name, np.mean(rows, axis=0))
    return 0


def print_line(space: str, history: str, row: np.ndarray) -> None:
    """One line of the table."""
    print(f"{space:16} {history:16} " + " ".join(f"{score:6.3f}" for score in row), flush=True)


def load(path: Path) -> Any:
    """A module from its file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main())
