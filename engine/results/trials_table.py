"""The trials of a study as a table, and which counters correlate with run time."""

from __future__ import annotations

from collections.abc import Sequence

import pandas

from engine.run.counters import counters_of
from engine.run.disturbed_trials import disturbance_of
from engine.run.shape_times import times_at
from engine.study.stored_trial import StoredTrial
from engine.workers.devices import cores_of

__all__ = ["correlations", "trials_table"]

# Fewer points may lie on a line by chance.
_FEWEST_TRIALS = 5


def trials_table(trials: Sequence[StoredTrial]) -> pandas.DataFrame:
    """One row per trial with an outcome: number, status, time, cores, code size, parameters,
    counters.

    Times are in seconds, and `estimated` says whether a model gave them. In a study of several
    shapes, the time is the geometric mean, and the time at each shape has its own column.
    `disturbed` says what else on the machine the time may come from. Values that a trial lacks are
    empty. Counters come last, with the prefix "counter.", so that no counter
    is mistaken for a parameter.
    """
    rows = []
    for trial in trials:
        if not trial.has_outcome:
            continue
        counters = {f"counter.{name}": value for name, value in counters_of(trial).items()}
        about = {name: trial.attributes.get(name) for name in ("board", "reason", "code_bytes")}
        about["disturbed"] = disturbance_of(trial) or None
        row = {
            "number": trial.number,
            "status": trial.status,
            "time_s": trial.time_s,
            "estimated": None if trial.time_s is None else bool(trial.attributes.get("estimated")),
            "cores": cores_of(str(trial.attributes.get("board", ""))),
        }
        at_shapes = {f"time_s at {shape}": time_s for shape, time_s in times_at(trial).items()}
        rows.append({**row, **at_shapes, **about, **trial.config, **counters})
    table = pandas.DataFrame(rows)
    counted = [name for name in table.columns if name.startswith("counter.")]
    return table[[name for name in table.columns if name not in counted] + counted]


def correlations(table: pandas.DataFrame) -> pandas.DataFrame:
    """Pearson's correlation of each counter with run time, the strongest first.

    Only correct trials with the counter are used. A counter that is constant, or that fewer than
    five trials have, is left out.

    Args:
        table: from `trials_table`.

    Returns:
        The columns event, correlation and trials.
    """
    rows = []
    timed = table[table["time_s"].notna()] if "time_s" in table else table
    for name in timed.columns:
        if not name.startswith("counter."):
            continue
        both = timed[["time_s", name]].dropna().astype(float)
        if len(both) < _FEWEST_TRIALS or both[name].nunique() == 1 or both["time_s"].nunique() == 1:
            continue
        correlation = float(both["time_s"].corr(both[name]))
        rows.append((name.removeprefix("counter."), correlation, len(both)))
    rows.sort(key=lambda row: -abs(row[1]))
    return pandas.DataFrame(rows, columns=["event", "correlation", "trials"])
