"""The trials of a study as a table, and which counters correlate with run time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas

from engine.results.minimised import minimised
from engine.results.provenance import provenance_of
from engine.results.units import utc
from engine.run.counters import counters_of
from engine.run.disturbed_trials import disturbance_of
from engine.run.shape_times import times_at
from engine.study.stored_trial import StoredTrial
from engine.study.trials import StoredTrials
from engine.workers.devices import cores_of
from foundation.shapes import shape_text

__all__ = ["correlations", "study_table", "trials_table"]

# Fewer points may lie on a line by chance.
_FEWEST_TRIALS = 5


def trials_table(trials: Sequence[StoredTrial]) -> pandas.DataFrame:
    """One row per trial with an outcome: number, status, time, cores, code size, parameters, when
    it began and ended, its build, counters.

    Times are in seconds, and `estimated` says whether a model gave them. In a study of several
    shapes, the time is the geometric mean, and the time at each shape has its own column; so has
    the time under each model of a board's family. `disturbed` says what else on the machine the
    time may come from. Values that a trial lacks are empty. Counters come last, with the prefix
    "counter.", so that no counter is mistaken for a parameter.
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
        under = {f"time_s under {model}": time_s for model, time_s in trial.models_s.items()}
        spent = {
            "begun_at": utc(trial.begun_s),
            "ended_at": utc(trial.ended_s),
            "build_s": trial.build_s,
            "build_step_s": _span_s(trial, "build"),
            "measure_step_s": _span_s(trial, "measure"),
        }
        rows.append({**row, **at_shapes, **about, **spent, **under, **trial.config, **counters})
    return _counters_last(pandas.DataFrame(rows))


def _span_s(trial: StoredTrial, what: str) -> float | None:
    """How long a step of this trial took; a build that was made before is fetched in no time."""
    spans_s = [end - start for step, _, start, end in trial.spans if step == what]
    return sum(spans_s) if spans_s else None


def study_table(study: StoredTrials) -> pandas.DataFrame:
    """`trials_table` of a study, with what its numbers rest on in columns "study.…" of one value
    each, so that tables of several studies can be put below one another.
    """
    table = trials_table(list(study.changes()))
    of = minimised(study)
    if of.losses and not table.empty:
        place = table.columns.get_loc("time_s") + 1
        table.insert(place, of.names[0], table["number"].map(of.losses))
    about = {f"study.{name}": [value] * len(table) for name, value in _about(study).items()}
    return _counters_last(
        pandas.concat([table, pandas.DataFrame(about, index=table.index)], axis=1)
    )


def _about(study: StoredTrials) -> dict[str, object]:
    """The study's provenance as single values."""
    found: dict[str, object] = {}
    for name, value in provenance_of(study).items():
        if name == "shape":
            shapes = value if isinstance(value, list) else [value]
            found[name] = " and ".join(map(_shape, shapes))
        elif name == "runs" and isinstance(value, list):
            found |= _of_runs(value)
        elif isinstance(value, Mapping):
            found |= {str(part).replace(" ", "_"): text for part, text in value.items()}
        elif isinstance(value, list):
            found[name] = ",".join(map(str, value))
        else:
            found["name" if name == "study" else name] = value
    return found


def _of_runs(runs: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """What made the trials as single values; of several runs, those that differ are listed."""
    flat = [{**{k: v for k, v in run.items() if k != "versions"}, **_versions(run)} for run in runs]
    names = dict.fromkeys(name for run in flat for name in run)
    listed = {name: list(dict.fromkeys(run.get(name) for run in flat)) for name in names}
    return {
        name: values[0] if len(values) == 1 else "; ".join(map(str, values))
        for name, values in listed.items()
    }


def _versions(run: Mapping[str, object]) -> Mapping[str, object]:
    versions = run.get("versions")
    return versions if isinstance(versions, Mapping) else {}


def _shape(value: object) -> str:
    return shape_text(value) if isinstance(value, Mapping) else str(value)


def _counters_last(table: pandas.DataFrame) -> pandas.DataFrame:
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
