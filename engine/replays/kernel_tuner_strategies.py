"""Kernel Tuner's strategies on recorded spaces: `pip install kernel_tuner`.

Its simulation mode replays a cache file, which is written here from a table. Everything else is
Kernel Tuner's own. A failed configuration counts as a trial, as in the other searches.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine.replays.recorded_space import RecordedSpace
from foundation.config import Config
from foundation.errors import UserError, nearest

__all__ = ["tried_by_kernel_tuner"]

# Strategies with other options than Kernel Tuner's: its populations are made for larger budgets.
_OPTIONS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "pso_small": ("pso", {"popsize": 15, "constraint_aware": True}),
}

# Of milliseconds, which it expects, in a second.
_MS = 1e3


def tried_by_kernel_tuner(
    of: RecordedSpace, strategy: str, seed: int, trials: int
) -> tuple[Sequence[Config], int]:
    """The configurations that a strategy tries, and how often it asked for one of them again.

    Kernel Tuner's budget counts a configuration once, and its results have one line for each ask.

    Args:
        of: the space.
        strategy: a name of Kernel Tuner's, or "pso_small": its particle swarm with a population of
            15, which suits small budgets.
        seed: of the random numbers.
        trials: the configurations that it may try.

    Raises:
        UserError: if there is no such strategy.
    """
    from constraint import FunctionConstraint
    from kernel_tuner import tune_kernel
    from kernel_tuner.interface import strategy_map

    name, options = _OPTIONS.get(strategy, (strategy, {}))
    if name not in strategy_map:
        known = [*strategy_map, *_OPTIONS]
        raise UserError(f"Kernel Tuner has no strategy {strategy}: {nearest(strategy, known)}")
    names = list(of.configs[0])
    values = {n: sorted({config[n] for config in of.table}) for n in names}
    allowed = {tuple(config[n] for n in names) for config in of.table}
    random.seed(seed)
    np.random.seed(seed)
    with tempfile.TemporaryDirectory() as folder, _silently():
        results, _ = tune_kernel(
            "replay",
            "__global__ void replay() {}",
            [1],
            [],
            values,
            restrictions=[FunctionConstraint(lambda *row: row in allowed)],
            simulation_mode=True,
            cache=str(_cache_file(Path(folder), of.table, values)),
            strategy=name,
            strategy_options={**options, "max_fevals": trials},
            quiet=True,
        )
    asked = [Config({n: result[n] for n in names}) for result in results]
    distinct = list(dict.fromkeys(asked))
    # A population that is under way may end later than it was told to.
    return distinct[:trials], len(asked) - len(distinct)


def _cache_file(
    folder: Path, table: Mapping[Config, float | None], values: Mapping[str, list[Any]]
) -> Path:
    """A table as Kernel Tuner's cache file, without the costs that it also keeps."""
    costs = ("compile_time", "verification_time", "benchmark_time", "strategy_time")
    entries = {}
    for config, time_s in table.items():
        time_ms = "RuntimeFailedConfig" if time_s is None else time_s * _MS
        entry = {**config, "time": time_ms, "times": [time_ms], "framework_time": 0}
        entry |= {"timestamp": "2000-01-01 00:00:00+00:00", **dict.fromkeys(costs, 0)}
        entries[",".join(str(config[name]) for name in values)] = entry
    content = {
        "device_name": "replay",
        "kernel_name": "replay",
        "problem_size": [1],
        "tune_params_keys": list(values),
        "tune_params": values,
        "objective": "time",
        "cache": entries,
    }
    path = folder / "cache.json"
    path.write_text(json.dumps(content))
    return path


@contextlib.contextmanager
def _silently() -> Iterator[None]:
    """Without the lines and warnings that it prints, such as on a kernel without thread blocks."""
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield
