"""A comparison of searches, as it is printed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from rich.box import SIMPLE
from rich.table import Table

from engine.replays.comparison import Comparison
from engine.replays.ranks import FEWEST_RANKED, FEWEST_SPACES, Difference
from engine.replays.scores import NEAR, Scores
from engine.results.units import counted

__all__ = ["families_table", "lines", "scores_table", "searches_of_each", "shown"]

_MS = 1e3
_TOO_FEW = f"fewer than {FEWEST_SPACES} spaces, so without"


def scores_table(compared: Comparison) -> Table:
    """One row for each search, over all spaces."""
    spaces = counted(len(compared.spaces), "space")
    error = " (standard error)" if compared.seeds > 1 else ""
    table = _table(f"{spaces}, {searches_of_each(compared.seeds)}{error}")
    table.add_column("search", overflow="fold")
    by_time = any(one.by_time for one in compared.scores)
    for heading in [f"P@{budget}" for budget in compared.budgets] + ["by time"] * by_time + ["CPU"]:
        table.add_column(heading, justify="right")
    for one in compared.scores:
        cells = [shown(*one.mean(budget, list(compared.spaces))) for budget in compared.budgets]
        timed = one.mean_by_time()
        times = [shown(*timed) if timed else "-"] * by_time
        cpu = "-" if one.ask_s is None else f"{one.ask_s * _MS:.0f} ms"
        table.add_row(compared.labels[one.search], *cells, *times, cpu)
    return table


def families_table(compared: Comparison) -> Table:
    """One row for each family of spaces, with the score of each search after all trials."""
    table = _table(f"P@{compared.trials} by family")
    table.add_column("family", no_wrap=True)
    table.add_column("spaces", justify="right")
    for one in compared.scores:
        table.add_column(compared.labels[one.search], justify="right", overflow="fold")
    for family, names in compared.families.items():
        cells = [shown(*one.mean(compared.trials, names)) for one in compared.scores]
        table.add_row(family, str(len(names)), *cells)
    return table


def _table(title: str) -> Table:
    """An empty table; five scores with their errors fit in 80 columns."""
    return Table(title=title, box=SIMPLE, collapse_padding=True)


def searches_of_each(seeds: int) -> str:
    """How often each space is searched: "5 searches of each"."""
    return "1 search of each" if seeds == 1 else f"{seeds} searches of each"


def lines(compared: Comparison) -> Iterator[str]:
    """How each search's scores are spread, what it asked for in vain, and which searches differ."""
    named = compared.labels
    for one in compared.scores:
        yield f"{named[one.search]}: {_spread(compared, one)}"
        for note in _notes(compared, one):
            yield f"{named[one.search]}: {note}"
    for each in compared.differences:
        yield (
            f"{named[each.search]} against {named[each.other]}: {each.mean:+.2f} at "
            f"P@{compared.trials} ({_interval(each)})"
        )
    ranks = compared.ranks
    if ranks is not None:
        order = sorted(ranks.mean.items(), key=lambda pair: pair[1])
        yield (
            "mean ranks: "
            + ", ".join(f"{named[name]} {rank:.2f}" for name, rank in order)
            + f" (Friedman p = {ranks.p:.2g}; by Nemenyi's test two differ from "
            f"{ranks.critical_difference:.2f} on)"
        )
    elif len(compared.scores) >= FEWEST_RANKED:
        yield f"mean ranks: {_TOO_FEW} Friedman's test"


def _interval(each: Difference) -> str:
    if each.low is None or each.high is None:
        return f"{_TOO_FEW} an interval"
    verdict = "" if each.is_significant else ", so it may be chance"
    return f"95% interval {each.low:+.2f} to {each.high:+.2f}{verdict}"


def _spread(compared: Comparison, one: Scores) -> str:
    """The median, how many searches came near to the optimum, and the lowest mean of a space."""
    means = {name: one.mean(compared.trials, [name])[0] for name in compared.spaces}
    name = min(means, key=lambda space: means[space])
    return (
        f"median P@{compared.trials} {_short(one.median(compared.trials))}, "
        f"{one.near_optimum(compared.trials):.0%} of searches within {NEAR:.0%} of the optimum, "
        f"lowest P@{compared.trials} {_short(means[name])}, on {name}"
    )


def _notes(compared: Comparison, one: Scores) -> Iterator[str]:
    """What of a search's scores is not what it looks like: repeats, failures, early ends."""
    runs = [run for of_space in compared.runs[one.search].values() for run in of_space]
    tried = sum(len(run.tried) for run in runs)
    repeated = sum(run.repeated or 0 for run in runs)
    if repeated:
        asks, share = counted(tried + repeated, "ask"), repeated / (tried + repeated)
        yield (
            f"{repeated} of {asks} repeated a configuration ({share:.0%}); "
            "a repeat costs no trial and gets the same time"
        )
    distinct = sum(
        len({tuple(run.tried) for run in of_space})
        for of_space in compared.runs[one.search].values()
    )
    if distinct < len(runs):
        yield (
            f"{distinct} of {len(runs)} searches differ, since on a small space another seed may "
            "change nothing: the standard errors are too small"
        )
    unknown = sum(number is None for run in runs for number in run.tried)
    if unknown:
        yield f"{unknown} of {counted(tried, 'trial')} are not in the space and count as failures"
    early = sum(len(run.tried) < compared.trials for run in runs)
    if early:
        yield (
            f"{early} of {len(runs)} searches ended before {compared.trials} trials; they are "
            "scored as if nothing better had followed"
        )


def shown(mean: float, error: float) -> str:
    """A score and its standard error: ".56 (.02)"; an error that is not a number is left out."""
    return _short(mean) if math.isnan(error) else f"{_short(mean)} ({_short(error)})"


def _short(value: float) -> str:
    return re.sub(r"^(-?)0\.", r"\1.", f"{value:.2f}")
