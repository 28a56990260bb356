"""A comparison of searches as CSV and as JSON."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from engine.replays.comparison import Comparison
from engine.replays.scores import Scores, band
from engine.replays.searches import identity
from engine.results.atomic_file import write_json_file, write_text_file
from foundation.version import project_version

__all__ = ["record", "write_files"]

_SCORES = ("search", "family", "space", "trials", "score", "standard_error")
_CURVES = ("search", "axis", "at", "mean", "low", "high")
_BEST = ("search", "space", "seed", "trial", "best_time_s", "spent_s")

Cell = str | int | float


def write_files(compared: Comparison, folder: Path) -> list[Path]:
    """Write scores.csv, curves.csv, best.csv and bench.json; returns their paths.

    Raises:
        UserError: if one cannot be written; it names the file.
    """
    tables = {
        "scores.csv": (_SCORES, _score_rows(compared)),
        "curves.csv": (_CURVES, _curve_rows(compared)),
        "best.csv": (_BEST, _best_rows(compared)),
    }
    return [
        *(write_text_file(folder / name, _csv(*table)) for name, table in tables.items()),
        write_json_file(folder / "bench.json", record(compared), indent=1),
    ]


def _csv(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def _score_rows(compared: Comparison) -> Iterator[Sequence[Cell]]:
    for one in compared.scores:
        for family, names in compared.families.items():
            for space in names:
                for budget in compared.budgets:
                    mean, error = one.mean(budget, [space])
                    yield one.search, family, space, budget, mean, _cell(error)


def _curve_rows(compared: Comparison) -> Iterator[Sequence[Cell]]:
    """The mean over spaces of the part of the way to the optimum, with its 95% band.

    By time, `at` is a part of the time that random search takes for all its trials.
    """
    for one in compared.scores:
        for axis, curves in (("trials", one.by_trials), ("time", one.by_time)):
            if not curves:
                continue
            drawn = band(list(curves.values()))
            count = len(drawn.mean)
            for place, row in enumerate(
                zip(drawn.mean.tolist(), drawn.low.tolist(), drawn.high.tolist(), strict=True), 1
            ):
                yield one.search, axis, place if axis == "trials" else place / count, *row


def _best_rows(compared: Comparison) -> Iterator[Sequence[Cell]]:
    """One row per trial that found something; `spent_s` is empty if costs were not recorded."""
    for search, by_space in compared.runs.items():
        for name, runs in by_space.items():
            of = compared.spaces[name]
            for seed, run in enumerate(runs):
                curve = of.best_so_far(run.tried, len(run.tried)).tolist()
                costs_s = [
                    of.costs_s.get(of.configs[n], 0.0) if n is not None else 0.0 for n in run.tried
                ]
                spent = np.cumsum(costs_s).tolist() if of.costs_s else [""] * len(curve)
                for trial, (best_s, spent_s) in enumerate(zip(curve, spent, strict=True), 1):
                    yield search, name, seed, trial, best_s, spent_s


def record(compared: Comparison) -> dict[str, object]:
    """The comparison as JSON values; a standard error of one seed is null."""
    ranks = compared.ranks
    return {
        "trials": compared.trials,
        "seeds": compared.seeds,
        "spaces": {name: len(of.table) for name, of in compared.spaces.items()},
        "recorded": {name: dict(of.about) for name, of in compared.spaces.items()},
        "versions": {
            "tuner": project_version(),
            "searches": {one.search: identity(one.search) for one in compared.scores},
        },
        "families": compared.families,
        "searches": [_search_record(compared, one) for one in compared.scores],
        "ranks": None if ranks is None else asdict(ranks),
        "differences": [
            {**asdict(each), "is_significant": each.is_significant} for each in compared.differences
        ],
    }


def _search_record(compared: Comparison, one: Scores) -> dict[str, object]:
    def scores(names: Iterable[str]) -> dict[str, object]:
        known = list(names)
        return {
            str(budget): [_json(value) for value in one.mean(budget, known)]
            for budget in compared.budgets
        }

    by_time = one.mean_by_time()
    runs = [run for of_space in compared.runs[one.search].values() for run in of_space]
    return {
        "search": one.search,
        "all": scores(compared.spaces),
        "median": {str(budget): one.median(budget) for budget in compared.budgets},
        "near_optimum": {str(budget): one.near_optimum(budget) for budget in compared.budgets},
        "by_time": None if by_time is None else [_json(value) for value in by_time],
        "families": {family: scores(names) for family, names in compared.families.items()},
        "spaces": {name: scores([name]) for name in compared.spaces},
        "cpu_s_per_trial": one.ask_s,
        "repeated_asks": _sum(run.repeated for run in runs),
        "ended_early": sum(len(run.tried) < compared.trials for run in runs),
    }


def _sum(counts: Iterable[int | None]) -> int | None:
    """The sum of what is known; None if nothing is."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _json(value: float) -> float | None:
    return None if math.isnan(value) else value


def _cell(value: float) -> Cell:
    return "" if math.isnan(value) else value
