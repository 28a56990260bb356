"""A comparison of searches as one HTML page that needs no network."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from engine.replays.comparison import Comparison
from engine.replays.recorded_space import Floats
from engine.replays.scores import band
from engine.replays.tables import lines, searches_of_each, shown
from engine.results.atomic_file import write_text_file
from engine.results.units import counted

__all__ = ["write_page"]

_COLORS = ("#2f81f7", "#d29922", "#db6d28", "#3fb950", "#a371f7", "#f778ba", "#8b949e")
_STYLE = (
    "body{font-family:sans-serif;max-width:70em;margin:auto;padding:1em}"
    "table{border-collapse:collapse;display:block;overflow-x:auto}"
    "td,th{padding:.2em .8em;text-align:right;"
    "border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}"
)
# The legend is below: beside the curves, it takes half of a phone's width.
_PLACES = {"margin": {"t": 10, "r": 10}, "legend": {"orientation": "h", "y": -0.25}}
_CAPTION = (
    "0 is random search, 1 the optimum at once; the mean over spaces, with its 95% confidence "
    "band over the seeds. P@k is the mean of such a curve over the first k trials."
)


def write_page(compared: Comparison, path: Path) -> None:
    """Write the page: curves by trials and by time, the scores, and the best so far on each space.

    Each chart's camera button saves it as a PNG.

    Raises:
        UserError: if it cannot be written.
    """
    plotly = (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    figures = _figures(compared)
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width'><title>Searches compared</title>"
        f"<style>{_STYLE}</style><script>{plotly}</script><h1>Searches compared</h1>",
        f"<p>{counted(len(compared.spaces), 'space')}, {searches_of_each(compared.seeds)}, "
        f"{compared.trials} trials. {html.escape(_CAPTION)}</p>",
        _score_rows(compared),
        f"<p>{'<br>'.join(html.escape(line) for line in lines(compared))}</p>",
    ]
    for number, (title, figure) in enumerate(figures.items()):
        saved = {"filename": re.sub(r"[^\w.-]+", "-", title)}
        config = {"responsive": True, "toImageButtonOptions": saved}
        data = json.dumps({**figure, "config": config}).replace("</", "<\\/")
        parts.append(
            f"<h2>{html.escape(title)}</h2><div id=figure{number}></div><script>"
            f"{{const f={data};Plotly.newPlot('figure{number}',f.data,f.layout,f.config)}}</script>"
        )
    write_text_file(path, "\n".join(parts) + "\n")


def _score_rows(compared: Comparison) -> str:
    heads = "".join(f"<th>P@{budget}" for budget in compared.budgets)
    rows = []
    for one in compared.scores:
        means = (one.mean(budget, list(compared.spaces)) for budget in compared.budgets)
        cells = "".join(f"<td>{shown(*mean)}" for mean in means)
        rows.append(f"<tr><td>{html.escape(compared.labels[one.search])}{cells}")
    return f"<table><tr><th>search{heads}{''.join(rows)}</table>"


def _figures(compared: Comparison) -> dict[str, dict[str, Any]]:
    """The charts by title."""
    by_trials = {one.search: list(one.by_trials.values()) for one in compared.scores}
    found = {
        "By trials": _chart(
            compared.labels, by_trials, "trials", "performance", range(1, compared.trials + 1)
        )
    }
    by_time = {one.search: list(one.by_time.values()) for one in compared.scores if one.by_time}
    if by_time:
        points = len(next(iter(by_time.values()))[0][0])
        share = [(place + 1) / points for place in range(points)]
        axis = f"part of the time that random search takes for {compared.trials} trials"
        found["By time"] = _chart(compared.labels, by_time, axis, "performance", share)
    for name in compared.spaces:
        slowdowns = {one.search: [one.slowdowns[name]] for one in compared.scores}
        trials = range(1, compared.trials + 1)
        found[name] = _chart(
            compared.labels, slowdowns, "trials", "best time / optimum", trials, is_log=True
        )
    return found


def _chart(
    labels: Mapping[str, str],
    curves: Mapping[str, Sequence[Floats]],
    across: str,
    up: str,
    at: Sequence[float],
    *,
    is_log: bool = False,
) -> dict[str, Any]:
    """A line with a band for each search.

    Args:
        labels: short names of the searches.
        curves: by search, for each space shape (seeds, points).
        across, up: titles of the axes.
        at: the points.
        is_log: whether the upward axis is logarithmic.
    """
    data = []
    for number, (search, of_each) in enumerate(curves.items()):
        drawn, color = band(of_each), _COLORS[number % len(_COLORS)]
        edges = np.concatenate([drawn.high, drawn.low[::-1]])
        ring = {"x": [*at, *reversed(at)], "y": _rounded(edges), "mode": "lines", "fill": "toself"}
        shade = {"fillcolor": color, "opacity": 0.15, "line": {"width": 0}}
        quiet = {"hoverinfo": "skip", "showlegend": False, "legendgroup": search}
        line = {"x": [*at], "y": _rounded(drawn.mean), "mode": "lines", "line": {"color": color}}
        named = {"name": labels[search], "legendgroup": search}
        data += [{**ring, **shade, **quiet}, {**line, **named}]
    upward = {"title": {"text": up}, "type": "log" if is_log else "linear"}
    layout = {"xaxis": {"title": {"text": across}}, "yaxis": upward, **_PLACES}
    return {"data": data, "layout": layout}


def _rounded(values: Floats) -> list[float]:
    return [float(f"{value:.5g}") for value in values]
