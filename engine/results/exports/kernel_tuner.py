"""kernel_tuner_cache.json: Kernel Tuner's cache file, for its simulation mode and its tools.

The layout is that of Kernel Tuner 1.5 (`kernel_tuner.util.process_cache` and `read_cache`). Times
are in ms.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from engine.results.atomic_file import write_text_file
from engine.results.provenance import provenance_of
from engine.results.tried_values import tried_values
from engine.results.tuned_shape import UnfitStudyError
from engine.results.units import counted
from engine.study.stored_trial import StoredTrial
from engine.study.trials import StoredTrials
from foundation.shapes import as_shape

__all__ = ["FILE", "problem_size", "write", "write_trials"]

FILE = "kernel_tuner_cache.json"

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
    count = write_trials(study, list(study.changes()), folder)
    return counted(count, "configuration") if count else ""


def problem_size(study: StoredTrials) -> list[int]:
    """The sizes of the study's shape; [1] if it has several shapes, since there has to be one."""
    return list((as_shape(study.attribute("shape")) or {}).values()) or [1]


def write_trials(study: StoredTrials, every: Sequence[StoredTrial], folder: Path) -> int:
    """Write the cache of these trials, unless none has an outcome; how many configurations.

    Raises:
        UnfitStudyError: for a study without parameters.
    """
    trials = [t for t in every if t.status == "correct" or t.status in _ERRORS]
    tuned = [trial for trial in trials if trial.has_outcome]
    if not tuned:
        return 0
    names = list(tuned[0].config)
    entries = {
        ",".join(str(trial.config[name]) for name in names): _entry(trial, names)
        for trial in trials
        if set(trial.config) == set(names)
    }
    if not names:
        raise UnfitStudyError(
            f"{study.study_name} has no parameters, and Kernel Tuner has a place for values of "
            "parameters only: give another study"
        )
    cache = {
        "device_name": str(study.attribute("device")),
        "kernel_name": str(study.attribute("kernel")),
        "problem_size": problem_size(study),
        "tune_params_keys": names,
        "tune_params": {name: tried_values(tuned, name) for name in names},
        "objective": "time",
        "tuner": provenance_of(study),  # Kernel Tuner reads the keys that it knows
        "cache": entries,
    }
    # Kernel Tuner takes a file for a closed one by these last three characters.
    write_text_file(folder / FILE, json.dumps(cache, indent=0))
    return len(entries)


def _entry(trial: StoredTrial, names: Sequence[str]) -> dict[str, object]:
    entry: dict[str, object] = {name: trial.config[name] for name in names}
    if trial.time_s is None:
        return {**entry, "__error__": _ERRORS[str(trial.status)], **_durations(trial)}
    entry["time"] = trial.time_s * _MS
    if trial.times_s:
        entry["times"] = [time_s * _MS for time_s in trial.times_s]
    return {**entry, **_durations(trial)}


def _durations(trial: StoredTrial) -> dict[str, float]:
    """How long each step took, in ms; the simulation counts them against a time limit.

    Outputs are checked in the run that times them, so that step stands under benchmark_time. As in
    Kernel Tuner's own files, a step of which nothing is known is 0.
    """
    measured_s = sum(end - start for what, _, start, end in trial.spans if what == "measure")
    return {
        "compile_time": (trial.build_s or 0.0) * _MS,
        "verification_time": 0.0,
        "benchmark_time": (measured_s or sum(trial.times_s)) * _MS,
        "strategy_time": 0.0,
        "framework_time": 0.0,
    }
