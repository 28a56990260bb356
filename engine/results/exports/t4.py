"""t4.json: results in the open format of the auto-tuning community, T4 1.0.0.

The schema is github.com/odgaard/TuningSchema; Kernel Tuner ships a copy. Times are in ms.
"""

from __future__ import annotations

from pathlib import Path

from engine.results.atomic_file import write_json_file
from engine.results.minimised import Minimised, minimised
from engine.results.provenance import provenance_of
from engine.results.units import counted, utc
from engine.run.counters import counters_of
from engine.study.objectives import CODE_BYTES
from engine.study.stored_trial import StoredTrial
from engine.study.trials import StoredTrials

__all__ = ["INVALIDITY", "write"]

_INDENT = 2
_MS = 1e3
_VERSION = "1.0.0"
# T4's word for each status of a configuration.
INVALIDITY = {
    "correct": "correct",
    "compile": "compile",
    "constraint": "constraints",
    "runtime": "runtime",
    "timeout": "timeout",
    "wrong": "correctness",
}


def write(study: StoredTrials, folder: Path) -> str:
    """Write the results of every trial."""
    of = minimised(study)
    results = [_result(trial, of) for trial in study.changes() if trial.status in INVALIDITY]
    if not results:
        return ""
    document = {
        "schema_version": _VERSION,
        "metadata": {"timeunit": "milliseconds", **provenance_of(study)},
        "results": results,
    }
    write_json_file(folder / "t4.json", document, _INDENT)
    return counted(len(results), "result")


def _result(trial: StoredTrial, of: Minimised) -> dict[str, object]:
    times: dict[str, object] = {"runtimes": [time_s * _MS for time_s in trial.times_s]}
    if trial.build_s is not None:
        times["compilation_time"] = trial.build_s * _MS
    measurements = [
        {"name": name, "value": value, "unit": ""} for name, value in counters_of(trial).items()
    ]
    if trial.time_s is not None:
        measurements.insert(0, {"name": "time", "value": trial.time_s * _MS, "unit": "ms"})
    if trial.number in of.losses:
        measurements.append({"name": of.names[0], "value": of.losses[trial.number], "unit": ""})
    if CODE_BYTES in of.names and trial.code_bytes is not None:
        measurements.append({"name": CODE_BYTES, "value": trial.code_bytes, "unit": "bytes"})
    measurements += [
        {"name": f"time under {model}", "value": time_s * _MS, "unit": "ms"}
        for model, time_s in trial.models_s.items()
    ]
    ended_at = utc(trial.ended_s)
    return {
        **({"timestamp": ended_at} if ended_at else {}),
        "configuration": dict(trial.config),
        "objectives": list(of.names),
        "times": times,
        "invalidity": INVALIDITY[str(trial.status)],
        "correctness": 1 if trial.status == "correct" else 0,
        "measurements": measurements,
    }
