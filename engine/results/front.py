"""The Pareto front of time and code size, as a table and as lines."""

from __future__ import annotations

from collections.abc import Callable

from rich.box import SIMPLE
from rich.table import Table

from engine.results.units import time_text
from engine.run.summary import Summary
from engine.study.stored_trial import StoredTrial
from foundation.config import Config

__all__ = ["front_lines", "front_table", "over_default"]


def over_default(trial: StoredTrial, summary: Summary) -> tuple[float | None, float | None]:
    """Time and code size of a trial over the default's; None for a ratio that is not known."""
    default = summary.default
    return (
        _ratio(trial.time_s, default.time_s if default else None),
        _ratio(trial.code_bytes, default.code_bytes if default else None),
    )


def front_table(summary: Summary, config_text: Callable[[Config], str]) -> Table:
    """The Pareto front, the fastest first."""
    table = Table(title="The Pareto front of time and code size", box=SIMPLE)
    table.add_column("configuration", no_wrap=True)
    label = f"\n({summary.estimate_of_all})" if summary.estimated else ""
    for heading in (f"time{label}", "of default", "code", "of default"):
        table.add_column(heading, justify="right")
    for trial in summary.front:
        time, code = over_default(trial, summary)
        table.add_row(
            config_text(trial.config),
            time_text(trial.time_s or 0.0),
            "-" if time is None else f"{time:.1%}",
            f"{trial.code_bytes} B",
            "-" if code is None else f"{code:.1%}",
        )
    return table


def front_lines(summary: Summary) -> list[str]:
    """One line per trial of the front: key=value fields separated by tabs."""
    lines = []
    for place, trial in enumerate(summary.front, start=1):
        time, code = over_default(trial, summary)
        fields = [
            f"front={place}",
            f"time_s={trial.time_s:.9f}",
            f"code_bytes={trial.code_bytes}",
            *([] if time is None else [f"time_over_default={time:.4f}"]),
            *([] if code is None else [f"code_over_default={code:.4f}"]),
            f"config={trial.config}",
        ]
        lines.append("\t".join(fields))
    return lines


def _ratio(value: float | None, default: float | None) -> float | None:
    return None if value is None or default is None else value / default
