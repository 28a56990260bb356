"""The charts of a report, as plotly takes them: https://plotly.com/javascript/reference/"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from engine.reports.content import StudyContent
from engine.study.stored_trial import StoredTrial

__all__ = ["charts", "compared_convergence"]

# What JSON holds.
Figure = dict[str, Any]

_WINNER, _OTHER, _CHANCE = "#0f8b6d", "#7a86b8", "#c77d2e"
_MS = 1e3
# Lines beyond these would hide each other.
_MOST_LINES = 1000


def charts(content: StudyContent) -> dict[str, Figure]:
    """Every chart that this study has data for, by name."""
    made = {
        "convergence": _convergence(content),
        "importance": _importance(content),
        "parallel": _parallel(content),
        "front": _front(content),
        "leaders": _leaders(content),
        "timeline": _timeline(content),
    }
    return {name: figure for name, figure in made.items() if figure}


def compared_convergence(contents: Sequence[StudyContent]) -> Figure:
    """The fastest so far of several studies, each relative to its own best."""
    traces = []
    for content, colour in zip(contents, (_WINNER, _CHANCE), strict=True):
        best = _best_so_far([t.time_s for t in content.trials if t.has_outcome])
        least = min((time_s for time_s in best if time_s is not None), default=None)
        if least is not None:
            relative = [None if time_s is None else time_s / least for time_s in best]
            traces.append(_line(content.name, relative, colour))
    return _figure(traces, "trials", "fastest so far over the study's best", log_y=True)


def _convergence(content: StudyContent) -> Figure:
    judged = [trial for trial in content.trials if trial.has_outcome]
    times_s = [trial.time_s for trial in judged]
    if not any(times_s):
        return {}
    tried = {
        "type": "scatter",
        "mode": "markers",
        "name": "a trial",
        "x": [at for at, time_s in enumerate(times_s, 1) if time_s is not None],
        "y": [time_s * _MS for time_s in times_s if time_s is not None],
        "text": [str(trial.config) for trial in judged if trial.time_s is not None],
        "hovertemplate": "trial %{x}: %{y:.4g} ms<br>%{text}<extra></extra>",
        "marker": {"color": _OTHER, "size": 6, "opacity": 0.7},
    }
    best = _line("fastest so far", _ms(_best_so_far(times_s)), _WINNER)
    return _figure([tried, best], "trials", _time_label(content), log_y=True)


def _importance(content: StudyContent) -> Figure:
    if not content.importances:
        return {}
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": list(content.importances.values()),
        "y": list(content.importances),
        "marker": {"color": _OTHER},
        "hovertemplate": "%{y}: %{x:.1%}<extra></extra>",
    }
    figure = _figure([bars], "share", "")
    figure["layout"]["xaxis"]["tickformat"] = ".0%"
    figure["layout"]["yaxis"]["autorange"] = "reversed"
    return figure


def _parallel(content: StudyContent) -> Figure:
    correct = [trial for trial in content.trials if trial.time_s is not None]
    names = list(correct[0].config) if correct else []
    if len(names) < 2:
        return {}
    correct = sorted(correct, key=lambda t: t.time_s or 0.0)[:_MOST_LINES]
    times_ms = [(trial.time_s or 0.0) * _MS for trial in correct]
    on_axis = [math.log10(time_ms) for time_ms in times_ms]
    least, most = times_ms[0], times_ms[-1]
    ticks = [tick for tick in _ticks(least, most) if least <= tick <= most] or [least]
    time_axis = {
        "label": _time_label(content),
        "values": on_axis,
        "tickvals": [math.log10(tick) for tick in ticks],
        "ticktext": [f"{tick:.4g}" for tick in ticks],
    }
    return {
        "data": [
            {
                "type": "parcoords",
                "line": {
                    "color": on_axis,
                    "colorscale": "Viridis",
                    "reversescale": True,
                    "showscale": False,
                },
                "dimensions": [
                    *(_dimension(name, correct) for name in names),
                    time_axis,
                ],
            }
        ],
        "layout": {"margin": {"l": 70, "r": 70, "t": 50, "b": 30}},
    }


def _dimension(name: str, trials: Sequence[StoredTrial]) -> Figure:
    """An axis with the parameter's values at equal distances, since sizes double."""
    values = [trial.config[name] for trial in trials]
    is_ordered = all(isinstance(value, int | float) for value in values)
    known = sorted(set(values), key=lambda value: value if is_ordered else str(value))
    return {
        "label": name,
        "values": [known.index(value) for value in values],
        "tickvals": list(range(len(known))),
        "ticktext": [str(value) for value in known],
        "range": [0, max(1, len(known) - 1)],
    }


def _front(content: StudyContent) -> Figure:
    """Time and code size of all correct trials, with the Pareto front among them."""
    if not content.summary.front:
        return {}
    on_front = {trial.number for trial in content.summary.front}
    groups = {"a trial": (_OTHER, 6), "Pareto front": (_WINNER, 9)}
    traces = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": [(trial.time_s or 0.0) * _MS for trial in shown],
            "y": [trial.code_bytes for trial in shown],
            "text": [str(trial.config) for trial in shown],
            "hovertemplate": "%{x:.4g} ms, %{y} B<br>%{text}<extra></extra>",
            "marker": {"color": colour, "size": size},
        }
        for (name, (colour, size)), shown in zip(
            groups.items(), _split(content.trials, on_front), strict=True
        )
    ]
    return _figure(traces, _time_label(content), "machine code in bytes")


def _split(trials: Sequence[StoredTrial], chosen: set[int]) -> tuple[list[StoredTrial], ...]:
    """The correct trials that are not chosen, and those that are."""
    correct = [trial for trial in trials if trial.time_s is not None]
    others = [trial for trial in correct if trial.number not in chosen]
    return others, [trial for trial in correct if trial.number in chosen]


def _leaders(content: StudyContent) -> Figure:
    comparison = content.summary.comparison
    if comparison is None:
        return {}
    contenders = comparison.contenders
    points = {
        "type": "scatter",
        "mode": "markers",
        "x": [c.time_s * _MS for c in contenders],
        "y": [str(c.config) for c in contenders],
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [(c.high_s - c.time_s) * _MS for c in contenders],
            "arrayminus": [(c.time_s - c.low_s) * _MS for c in contenders],
        },
        "marker": {
            "color": [_WINNER if c is comparison.winner else _OTHER for c in contenders],
            "size": 9,
        },
        "hovertemplate": "%{y}: %{x:.4g} ms<extra></extra>",
    }
    figure = _figure([points], f"{_time_label(content)}, {comparison.confidence:.0%} interval", "")
    figure["layout"]["yaxis"]["autorange"] = "reversed"
    return figure


def _timeline(content: StudyContent) -> Figure:
    """When each builder built and each board measured; what lies between is idle."""
    bars: dict[str, list[tuple[str, float, float, int]]] = {"build": [], "measure": []}
    for trial in content.trials:
        for what, where, start_s, end_s in trial.spans:
            if what in bars:
                bars[what].append((where, start_s, end_s, trial.number))
    begin = min((start_s for row in bars.values() for _, start_s, _, _ in row), default=None)
    if begin is None:
        return {}
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": what,
            "base": [start_s - begin for _, start_s, _, _ in row],
            "x": [end_s - start_s for _, start_s, end_s, _ in row],
            "y": [where for where, *_ in row],
            "text": [f"trial {number}" for *_, number in row],
            "textposition": "none",
            "hovertemplate": "%{text}: %{x:.2f} s<extra>%{y}</extra>",
            "marker": {"color": colour, "line": {"width": 0.5, "color": "rgba(0,0,0,.4)"}},
        }
        for (what, row), colour in zip(bars.items(), (_OTHER, _WINNER), strict=True)
    ]
    figure = _figure(traces, "seconds since the first build", "")
    figure["layout"]["barmode"] = "overlay"
    return figure


def _figure(traces: list[Figure], x: str, y: str, *, log_y: bool = False) -> Figure:
    layout: Figure = {
        "xaxis": {"title": {"text": x}, "automargin": True},
        "yaxis": {"title": {"text": y}, "automargin": True},
        "margin": {"l": 60, "r": 20, "t": 10, "b": 50},
        "legend": {"orientation": "h", "y": 1, "yanchor": "bottom"},
    }
    if log_y:
        shown = [value for trace in traces for value in trace["y"] if value is not None]
        ticks = _ticks(min(shown), max(shown)) if shown else []
        layout["yaxis"] |= {"type": "log", "tickvals": ticks, "ticktext": [f"{t:g}" for t in ticks]}
    return {"data": traces, "layout": layout}


def _ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten that lie around these values."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [digit * 10.0**exponent for exponent in exponents for digit in (1, 2, 5)]


def _line(name: str, values: Sequence[float | None], colour: str) -> Figure:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": list(range(1, len(values) + 1)),
        "y": list(values),
        "line": {"color": colour, "shape": "hv", "width": 2},
        "hovertemplate": "after %{x}: %{y:.4g}<extra></extra>",
    }


def _best_so_far(times_s: Sequence[float | None]) -> list[float | None]:
    best: list[float | None] = []
    for time_s in times_s:
        before = best[-1] if best else None
        known = [value for value in (before, time_s) if value is not None]
        best.append(min(known, default=None))
    return best


def _ms(times_s: Sequence[float | None]) -> list[float | None]:
    return [None if time_s is None else time_s * _MS for time_s in times_s]


def _time_label(content: StudyContent) -> str:
    return "time in ms (estimated)" if content.summary.estimated else "time in ms"
