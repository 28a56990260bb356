"""t1.json: a study as a tuning problem for simulated tuning, T1 1.0.0, with its recorded results.

The schema is github.com/odgaard/TuningSchema; Kernel Tuner 1.5 ships a copy and reads such files
by `kernel_tuner.interface.tune_kernel_T1`, read in November 2026. No language of T1 is Triton's:
"CUDA" stands there, and in a simulation nothing is compiled. The results are Kernel Tuner's cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.results.atomic_file import write_json_file
from engine.results.exports import kernel_tuner
from engine.results.tried_values import tried_values
from engine.results.units import counted
from engine.study.stored_trial import StoredTrial
from engine.study.trials import StoredTrials
from foundation.config import ParameterValue

__all__ = ["write"]

_INDENT = 2
_AXES = "XYZ"


def write(study: StoredTrials, folder: Path) -> str:
    """Write the problem and the cache."""
    trials = list(study.changes())
    tuned = [trial for trial in trials if trial.has_outcome]
    if not tuned:
        return ""
    kernel_tuner.write_trials(study, trials, folder)
    names = list(tuned[0].config)
    problem = {
        "ConfigurationSpace": {
            "TuningParameters": [_parameter(name, tried_values(tuned, name)) for name in names],
            "Conditions": [_condition(names, tuned)],
        },
        "Search": {"Name": "random_sample"},
        "Budget": [{"Type": "ConfigurationCount", "BudgetValue": len(tuned)}],
        "General": {"FormatVersion": 1, "TimeUnit": "Milliseconds"},
        "KernelSpecification": _kernel(study),
    }
    write_json_file(folder / "t1.json", problem, _INDENT)
    return f"{counted(len(names), 'parameter')}, {counted(len(tuned), 'configuration')}"


def _parameter(name: str, values: list[ParameterValue]) -> dict[str, str]:
    return {"Name": name, "Type": _type(values), "Values": str(values)}


def _type(values: list[ParameterValue]) -> str:
    """Kernel Tuner evaluates the values of these three types, and refuses "bool"."""
    for kind, name in ((int, "int"), (float, "float")):
        if all(type(value) is kind for value in values):
            return name
    return "string"


def _condition(names: Sequence[str], tuned: Sequence[StoredTrial]) -> dict[str, object]:
    """That a configuration has a recorded result."""
    known = [tuple(trial.config.values()) for trial in tuned if list(trial.config) == names]
    return {"Parameters": list(names), "Expression": f"({', '.join(names)},) in {known}"}


def _kernel(study: StoredTrials) -> dict[str, object]:
    kernel = str(study.attribute("kernel"))
    sizes = kernel_tuner.problem_size(study)
    # Kernel Tuner wants the file to be there, and reads it only to compile it.
    recorded = kernel_tuner.FILE
    return {
        "Language": "CUDA",
        "Device": {"Name": str(study.attribute("device"))},
        "KernelName": kernel,
        "KernelFile": recorded,
        "ProblemSize": sizes,
        "GlobalSize": {axis: str(size) for axis, size in zip(_AXES, sizes, strict=False)},
        "LocalSize": {"X": "1"},
        "Arguments": [],
        "SimulationInput": recorded,
    }
