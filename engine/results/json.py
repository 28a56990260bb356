"""Results as standard JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from engine.results.advice import advice
from engine.results.front import over_default
from engine.results.robust_table import robust_record
from engine.run.counters import counters_of
from engine.run.estimates import trial_band
from engine.run.shape_times import ShapeTimes
from engine.run.summary import Summary
from engine.study.location import shown_storage
from engine.study.stored_trial import StoredTrial
from foundation.shapes import shape_text

if TYPE_CHECKING:  # it takes seconds to import, for which the report of a study does not wait
    from engine.run.tuning import TuningResult

__all__ = ["json_text", "json_value", "study_record"]


def json_value(value: object) -> object:
    """`value` with infinities and NaN, which JSON cannot hold, replaced by their names."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(name): json_value(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    return value


def json_text(value: object) -> str:
    """One JSON document, indented for people."""
    return json.dumps(json_value(value), indent=2, allow_nan=False)


def study_record(result: TuningResult) -> dict[str, object]:
    """What `python -m engine.tune --json` prints."""
    summary, ended = result.summary, result.ended
    winner, robustness = summary.winner, summary.robustness
    return {
        "kernel": result.problem.spec.name,
        **_shapes(result),
        "dtype": result.problem.dtype,
        "device": result.device,
        "cores": result.cores,
        "sampler": result.sampler,
        "seed": result.seed,
        "runs": [dict(run) for run in result.runs],
        "storage": shown_storage(result.storage),
        "study": result.study,
        "warm_started_from": result.warm_started_from,
        "other_studies": {name: list(parts) for name, parts in result.other_studies.items()},
        "builds": str(result.builds),
        "ended": ended.reason,
        "tried": ended.tried,
        "measured_in_this_run": ended.measured,
        "wall_s": ended.wall_s,
        "boards": [asdict(record) for record in ended.boards],
        "space_size": result.space_size,
        "estimated": summary.estimated,
        "use": None if summary.to_use is None else dict(summary.to_use.config),
        "advice": advice(summary),
        "wrong_elsewhere": summary.wrong_elsewhere or None,
        "probably_wrong": summary.probably_wrong or None,
        "winner": None if winner is None else trial_record(winner, summary),
        "default": None if summary.default is None else trial_record(summary.default, summary),
        "best": [trial_record(trial, summary) for trial in summary.best],
        "front": [_front_record(trial, summary) for trial in summary.front],
        "counter_changes": [
            {
                "name": change.name,
                "default": change.default,
                "winner": change.winner,
                "ratio": change.ratio,
                "cycles_estimated": change.cycles,
            }
            for change in summary.changes
        ],
        "comparison": None if summary.comparison is None else summary.comparison.to_json(),
        "robustness": None if robustness is None else robust_record(robustness),
        "statuses": dict(summary.statuses),
        "first_reasons": dict(summary.first_reasons),
        "pruned_by_rule": dict(result.pruned),
        "notes": list(result.notes),
    }


def _shapes(result: TuningResult) -> dict[str, object]:
    """The shape; in a study of several, each with the winner's speed-up and cost there."""
    if not result.more_problems:
        return {"shape": dict(result.problem.shape)}
    shapes = [problem.shape for problem in (result.problem, *result.more_problems)]
    times = result.summary.shapes
    return {"shapes": [{"shape": dict(s), **_times(times.get(shape_text(s)))} for s in shapes]}


def _times(times: ShapeTimes | None) -> dict[str, object]:
    if times is None:
        return {}
    return {
        "winner_s": times.winner_s,
        "default_s": times.default_s,
        "speedup_over_default": times.speedup,
        "fastest_tried_s": times.fastest_s,
        "slower_than_fastest": times.cost,
    }


def trial_record(trial: StoredTrial, summary: Summary) -> dict[str, object]:
    """One correct trial, with the ELF that was measured and how to run it."""
    band = trial_band(trial)
    return {
        "config": dict(trial.config),
        "time_s": summary.time_s(trial),
        "estimated": bool(trial.attributes.get("estimated")),
        "models_s": trial.models_s,
        "estimate_error": None if band is None else band.error,
        "tied_with_winner": summary.tied(trial),
        "speedup_over_default": summary.speedup(trial),
        "compared_in_turns": summary.is_compared(trial),
        "counters": counters_of(trial),
        "board": trial.attributes.get("board"),
        "elf_path": trial.attributes.get("elf_path"),
        "elf_sha256": trial.attributes.get("elf_sha256"),
        "run_command": trial.attributes.get("run_command"),
        **({"shapes": trial.attributes["shapes"]} if "shapes" in trial.attributes else {}),
    }


def _front_record(trial: StoredTrial, summary: Summary) -> dict[str, object]:
    """One trial of the front, with its objectives over the default's."""
    time, code = over_default(trial, summary)
    return {
        **trial_record(trial, summary),
        "code_bytes": trial.code_bytes,
        "time_over_default": time,
        "code_over_default": code,
    }
