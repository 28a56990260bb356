"""A small space with every kind of parameter, and a smooth time over it."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import optuna

from engine.search import Search
from engine.study.identity import StudyIdentity
from engine.study.storage import open_study
from foundation.config import Config
from search_spaces.space import Parameter, Rule, SearchSpace

IDENTITY = StudyIdentity(
    kernel="matmul",
    shape={"M": 64, "N": 32},
    dtype="fp32",
    device="emulated:x60",
    sampler="tpe",
    made_with={"board model": "emulated-x60-model-1", "compiler": "0123"},
)

SPACE = SearchSpace(
    parameters=(
        Parameter("ROWS", (2, 4, 8, 16)),
        Parameter("COLUMNS", (2, 4, 8, 16, 32)),
        Parameter("UNROLLED", (False, True)),
        Parameter("ORDER", ("rows", "columns", "blocks")),
    ),
    rules=(
        Rule("tile-fits", "the tile is too large", lambda c: c["ROWS"] * c["COLUMNS"] <= 128),
        Rule("rows-not-wide", "rows are too wide", lambda c: c["COLUMNS"] <= 8 * c["ROWS"]),
    ),
    default=Config({"ROWS": 2, "COLUMNS": 8, "UNROLLED": False, "ORDER": "rows"}),
)


def time_of(config: Config) -> float:
    """Fastest at ROWS=8, COLUMNS=16, UNROLLED, ORDER=blocks."""
    rows, columns = math.log2(float(config["ROWS"])), math.log2(float(config["COLUMNS"]))
    distance = (rows - 3) ** 2 + (columns - 4) ** 2
    order = {"rows": 2, "columns": 1, "blocks": 0}[str(config["ORDER"])]
    return 1e-3 * (1 + distance + order + (not config["UNROLLED"]))


def run(search: Search, trials: int) -> Iterator[Config]:
    """Ask and tell until so many configurations are tried, or there are no more."""
    while search.tried < trials and (config := search.ask()) is not None:
        search.tell(config, time_of(config))
        yield config


def _tune_until_killed(storage: str, sampler: str, in_flight: int) -> None:
    """Print each configuration once it is told; so many are open at any time."""
    trials = open_study(storage, IDENTITY, SPACE)
    search = Search(SPACE, sampler, 0, trials, in_flight=in_flight)
    print("open", flush=True)
    pending: list[Config] = []
    while True:
        while len(pending) < in_flight and (config := search.ask()) is not None:
            pending.append(config)
        if not pending:
            break
        config = pending.pop(0)
        search.tell(config, time_of(config), attributes={"counters": {"cycles": 1.0}})
        print(config, flush=True)
        time.sleep(0.002)


def search_in(storage: str, sampler: str = "tpe") -> Search:
    return Search(SPACE, sampler, 0, open_study(storage, IDENTITY, SPACE))


def log_density(values: np.ndarray, covariance: np.ndarray) -> float:
    """Of a normal distribution around zero; scipy.stats takes half a second to import."""
    logarithm = np.linalg.slogdet(2 * math.pi * covariance).logabsdet
    return float(-(logarithm + values @ np.linalg.solve(covariance, values)) / 2)


def optuna_storage(storage: str) -> str | optuna.storages.BaseStorage:
    """The same storage through Optuna's own classes."""
    if "://" in storage:
        return storage
    backend = optuna.storages.journal.JournalFileBackend(storage)
    return optuna.storages.JournalStorage(backend)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    _tune_until_killed(sys.argv[1], sys.argv[2], int(sys.argv[3]))
