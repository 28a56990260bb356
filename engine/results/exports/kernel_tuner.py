"""kernel_tuner_cache.json: Kernel Tuner's cache file, for its simulation mode and its tools.

The layout is that of Kernel Tuner 1.5 (`kernel_tuner.util.process_cache` and `read_cache`). Times
are in ms.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from engine.study.trials import StoredTrial, StoredTrials
from foundation.config import ParameterValue
from foundation.shapes import as_shape

__all__ = ["write"]


_MS = 1e3
# It knows no wrong outputs in its files, and no time limit.
_ERRORS = {
    "compile": "CompilationFailedConfig",
    "constraint": "InvalidConfig",
    "runtime": "RuntimeFailedConfig",
    "timeout": "RuntimeFailedConfig",
    "wrong": "RuntimeFailedConfig",
}


def write(study: StoredTrials, folder: Path) -> str:
    """Write the cache; of a configuration with several trials, the latest counts."""
    trials = [t for t in study.changes() if t.status == "correct" or t.status in _ERRORS]
    tuned = [trial for trial in trials if trial.has_outcome]
    if not tuned:
        return ""
    names = list(tuned[0].config)
    entries = {
        ",".join(str(trial.config[name]) for name in names): _entry(trial, names)
        for trial in trials
        if set(trial.config) == set(names)
    }
    shape = as_shape(study.attribute("shape")) or {}
    cache = {
        "device_name": str(study.attribute("device")),
        "kernel_name": str(study.attribute("kernel")),
        "problem_size": list(shape.values()),
        "tune_params_keys": names,
        "tune_params": {name: _values(tuned, name) for name in names},
        "objective": "time",
        "cache": entries,
    }
    # Kernel Tuner takes a file for a closed one by these last three characters.
    text = json.dumps(cache, indent=0)
    (folder / "kernel_tuner_cache.json").write_text(text)
    return f"{len(entries)} configurations"


def _entry(trial: StoredTrial, names: Sequence[str]) -> dict[str, object]:
    entry: dict[str, object] = {name: trial.config[name] for name in names}
    if trial.time_s is None:
        return {**entry, "__error__": _ERRORS[str(trial.status)]}
    entry["time"] = trial.time_s * _MS
    if trial.times_s:
        entry["times"] = [time_s * _MS for time_s in trial.times_s]
    stages_s = trial.attributes.get("build_stages_s")
    if isinstance(stages_s, Mapping):
        entry["compile_time"] = sum(map(float, stages_s.values())) * _MS
    return entry


def _values(trials: Sequence[StoredTrial], name: str) -> list[ParameterValue]:
    """Those that were tried; in order, if they are numbers."""
    values = {trial.config[name] for trial in trials}
    if all(isinstance(value, int | float) for value in values):
        return sorted(values)
    return sorted(values, key=str)
