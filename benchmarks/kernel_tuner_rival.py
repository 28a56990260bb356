"""Kernel Tuner's strategies on whole spaces, to compare with: `pip install kernel_tuner`.

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
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from foundation.config import Config

__all__ = ["kernel_tuner_times"]

# Strategies with other options than Kernel Tuner's: its populations are made for larger budgets.
OPTIONS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "pso_small": ("pso", {"popsize": 15, "constraint_aware": True}),
}

# Of milliseconds, which it expects, in a second.
_MS = 1e3


def kernel_tuner_times(
    table: Mapping[Config, float | None], strategy: str, seed: int, trials: int
) -> list[float | None]:
    """The time in seconds of each configuration that a strategy tries, None for a failure.

    Args:
        table: times in seconds by configuration, None for a failure.
        strategy: a name of Kernel Tuner's or in `OPTIONS`.
        seed: of the random numbers.
        trials: the configurations that it may try.
    """
    from constraint import FunctionConstraint
    from kernel_tuner import tune_kernel

    name, options = OPTIONS.get(strategy, (strategy, {}))
    names = list(next(iter(table)))
    values = {n: sorted({config[n] for config in table}) for n in names}
    allowed = {tuple(config[n] for n in names) for config in table}
    random.seed(seed)
    np.random.seed(seed)
    with tempfile.TemporaryDirectory() as folder, _silently():
        results, _ = tune_kernel(
            "made_up",
            "__global__ void made_up() {}",
            [1],
            [],
            values,
            restrictions=[FunctionConstraint(lambda *row: row in allowed)],
            simulation_mode=True,
            cache=str(_cache_file(Path(folder), table, values)),
            strategy=name,
            strategy_options={**options, "max_fevals": trials},
            quiet=True,
        )
    # A population that is under way may end later than it was told to.
    tried = [result["time"] for result in results[:trials]]
    return [None if isinstance(time_ms, str) else time_ms / _MS for time_ms in tried]


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
        "kernel_name": "made_up",
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
def _silently() -> Any:
    """Without the lines and warnings that it prints, such as on a kernel without thread blocks."""
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield
