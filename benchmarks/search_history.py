"""What a history is worth: python benchmarks/search_history.py SCORE_PY SPACES.

SCORE_PY is the tool that `search_quality.py` runs, and SPACES the folder of recorded spaces; both
lie outside this project. Each space that has sisters (the same kernel and parameters, recorded on
another device) is searched from cold, with a sister's trials as its history, and with a history
that misleads: its own times upside down, so that its best are the worst there are.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from search_quality import Optimiser

from engine.search import Search
from engine.suggestions import History
from search_spaces.space import SearchSpace

__all__ = ["main"]

BUDGETS = (25, 50, 100)


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


def upside_down(record: Any) -> History:
    """A whole table with its times turned round."""
    names = list(record.params)
    return [
        (dict(zip(names, values, strict=True)), None if seconds is None else 1 / seconds)
        for values, seconds in record.table.items()
    ]


def scores(tool: Any, record: Any, histories: Sequence[History]) -> np.ndarray:
    """P@ each budget, on average over one run with each history."""

    def factory(history: History) -> Callable[[Any, int], Optimiser]:
        return lambda space, seed: Optimiser(space, "auto", seed, history)

    runs = [
        tool.replay(record, factory(history), seed, max(BUDGETS), True)[:2]
        for seed, history in enumerate(histories)
    ]
    metrics = tool.metrics(record, runs, list(BUDGETS), "evals")
    return np.array([metrics[budget][0] for budget in BUDGETS])


def main() -> int:
    """Print a line for each space, and the means."""
    parser = argparse.ArgumentParser(description="Scores searches with a history.")
    parser.add_argument("score_py", type=Path, help="the tool that replays and scores")
    parser.add_argument("spaces", type=Path, help="folder of recorded spaces")
    parser.add_argument("--seeds", type=int, default=5, help="runs on each space")
    parser.add_argument("--trials", type=int, default=100, help="of a study that is the history")
    arguments = parser.parse_args()
    tool = load(arguments.score_py)
    records = [tool.Record(path) for path in sorted(arguments.spaces.glob("*.json.gz"))]
    seeds = range(arguments.seeds)
    print("space            history     " + " ".join(f"P@{budget:<4}" for budget in BUDGETS))
    table: dict[str, list[np.ndarray]] = {"none": [], "sister": [], "misleading": []}
    for record in records:
        sisters = [r for r in records if r is not record and r.params == record.params]
        if not sisters:
            continue
        from_sisters = [
            history_of(sisters[seed % len(sisters)], arguments.trials, 100 + seed) for seed in seeds
        ]
        histories = {
            "none": [()] * len(seeds),
            "sister": from_sisters,
            "misleading": [upside_down(record)] * len(seeds),
        }
        for name, chosen in histories.items():
            table[name].append(scores(tool, record, chosen))
            print_line(record.name, name, table[name][-1])
    for name, rows in table.items():
        print_line("MEAN", name, np.mean(rows, axis=0))
    return 0


def print_line(space: str, history: str, row: np.ndarray) -> None:
    """One line of the table."""
    print(f"{space:16} {history:11} " + " ".join(f"{score:6.3f}" for score in row), flush=True)


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
