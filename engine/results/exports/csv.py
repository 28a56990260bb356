"""trials.csv with every trial, high_correlations.csv with the counters that follow run time."""

from __future__ import annotations

from pathlib import Path

from engine.results.plain_cells import plain_cell
from engine.results.trials_table import correlations, study_table
from engine.results.units import counted
from engine.study.trials import StoredTrials

__all__ = ["write"]


_HIGH = 0.7


def write(study: StoredTrials, folder: Path) -> str:
    """Write both tables."""
    table = study_table(study)
    if table.empty:
        return ""
    plain = table.rename(columns=plain_cell).map(plain_cell)
    plain.to_csv(folder / "trials.csv", index=False)
    related = correlations(table)
    high = related[related["correlation"].abs() > _HIGH]
    high.map(plain_cell).to_csv(folder / "high_correlations.csv", index=False)
    follow = f"{len(high)} of {len(related)} counters correlate with run time"
    return f"{counted(len(table), 'trial')}, {follow}"
