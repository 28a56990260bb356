"""A result as HTML for a notebook: tables with a column for each parameter, as pandas has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from engine.results.advice import advice
from engine.results.leaders import comparison_sentences
from engine.results.robust_table import robust_sentence
from engine.results.units import count_text, cycles_heading, speedup_text, time_text
from engine.run.counters import CYCLES, counters_of
from engine.run.robustness import Robustness, loss_text
from engine.run.tuning import TuningResult
from engine.study.stored_trial import StoredTrial
from foundation.config import Config

__all__ = ["result_html"]

_RIGHT = ' style="text-align: right"'


def result_html(result: TuningResult) -> str:
    """The fastest configurations and the default, what the winner loses under other models of the
    board, and what failed."""
    summary = result.summary
    tried = sum(summary.statuses.values())
    parts = [_paragraph(f"{result.study}: the best of {tried} tried")]
    if not tried:
        parts = [_paragraph(f"{result.study}: {advice(summary)}")]
    elif summary.winner is None:
        parts = [_paragraph(f"{result.study}: none of {tried} configurations was valid")]
    else:
        parts += [_fastest(result), _paragraph(advice(summary))]
    if summary.robustness is not None:
        parts += [_models(summary.robustness), _paragraph(robust_sentence(summary.robustness))]
    if summary.comparison is not None:
        parts += map(_paragraph, comparison_sentences(summary.comparison))
    for status, reason in summary.first_reasons.items():
        parts.append(_paragraph(f"{summary.statuses[status]} {status}, the first: {reason}"))
    parts += (_paragraph(f"note: {note}") for note in result.notes)
    return "".join(parts)


def _fastest(result: TuningResult) -> str:
    summary = result.summary
    rows = list(summary.best)
    if summary.default is not None and summary.default not in rows:
        rows.append(summary.default)
    names = list(rows[0].config)
    estimate = f" ({summary.estimate_of_all})" if summary.estimated else ""
    counted = cycles_heading(result.cores)
    heads = ["", *names, f"time{estimate}", f"{counted}{estimate}", "speed-up"]
    return _table(heads, (_row(result, place, trial) for place, trial in enumerate(rows, 1)))


def _row(result: TuningResult, place: int, trial: StoredTrial) -> list[str]:
    summary = result.summary
    rank = "default" if trial is summary.default else str(place)
    cycles = counters_of(trial).get(CYCLES)
    return [
        f"{rank}{' tied' if summary.tied(trial) else ''}",
        *_values(trial.config),
        time_text(summary.time_s(trial) or 0.0),
        "-" if cycles is None else count_text(cycles),
        speedup_text(summary.speedup(trial)),
    ]


def _models(found: Robustness) -> str:
    names = list(found.winner.config)
    heads = ["model", *names, "the winner loses"]
    rows = (
        [model.name, *_values(model.best.config), loss_text(model.loses)] for model in found.under
    )
    return _table(heads, rows)


def _values(config: Config) -> list[str]:
    return [str(value) for value in config.values()]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th{_RIGHT}>{escape(text)}</th>" for text in heads)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return (
        f'<table border="1" class="dataframe"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


def _cell(text: str) -> str:
    return f"<td{_RIGHT}>{escape(text)}</td>"


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"
