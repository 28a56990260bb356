"""triton_configs.py: the fastest configurations as a list for `@triton.autotune`."""

from __future__ import annotations

from pathlib import Path

from engine.results.advice import advice
from engine.results.paste import triton_config
from engine.results.units import counted, time_text
from engine.run.stored_summary import stored_summary
from engine.study.trials import StoredTrials

__all__ = ["write"]


_HEAD = '''"""The fastest configurations of {study}, the one to use first.

{advice}

The order is that of the leaders when measured again, or of losses under all models of a core;
their times, those of the rounds where there were any, need not ascend: {times}.
"""

import triton

CONFIGS = [
'''


def write(study: StoredTrials, folder: Path) -> str:
    """Write the module."""
    trials = [trial for trial in study.changes() if trial.has_outcome]
    summary = stored_summary(study, trials)
    if summary.to_use is None:
        return ""
    best = [summary.to_use, *(trial for trial in summary.best if trial is not summary.to_use)]
    estimated = " (estimated)" if any(t.attributes.get("estimated") for t in best) else ""
    times_s = (summary.time_s(trial) for trial in best)
    times = ", ".join(time_text(time_s) for time_s in times_s if time_s is not None)
    head = _HEAD.format(
        study=study.study_name.encode("unicode_escape").decode().replace('"', "'"),
        advice=advice(summary),
        times=f"{times}{estimated}",
    )
    entries = "".join(f"    {triton_config(trial.config)},\n" for trial in best)
    (folder / "triton_configs.py").write_text(f"{head}{entries}]\n")
    return counted(len(best), "configuration")
