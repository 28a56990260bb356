"""The regrets of several boards' winners as a table, as CSV and as a picture."""

from __future__ import annotations

import csv
import html
import json
import math
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.table import Table

from engine.regrets.times import BoardTimes
from engine.results.units import spaced_config

__all__ = ["least_lines", "regret_table", "write_csv", "write_picture"]

_CSV_COLUMNS = ("problem", "config", "winner_on", "device", "time_s", "regret", "estimated", "from")
_EMULATED = "emulated:"


def regret_table(times: BoardTimes) -> Table:
    """One row for each board's winner, one column for each board that runs it."""
    note = " (estimated)" if times.estimated else ""
    table = Table(title=f"{times.problem}: how much slower the winner of ... runs on ...{note}")
    table.box = SIMPLE
    table.add_column("winner of")
    names = _short_names(times)
    for heading in (*names.values(), "worst", "mean"):
        table.add_column(heading, justify="right")
    for device, config in times.winners.items():
        regrets = (times.regret(config, there) for there in times.winners)
        scores = (times.worst(config), times.mean(config))
        table.add_row(names[device], *map(_percent, (*regrets, *scores)))
    return table


def least_lines(times: BoardTimes) -> list[str]:
    """Every winner, and which loses least over all boards, by either measure."""
    worst, mean = times.least(times.worst), times.least(times.mean)
    return [
        *(f"winner of {device}: {spaced_config(c)}" for device, c in times.winners.items()),
        f"least worst: {spaced_config(worst)} (at most {_percent(times.worst(worst))} slower)",
        f"least geometric mean: {spaced_config(mean)} ({_percent(times.mean(mean))} slower)",
    ]


def write_csv(all_times: Sequence[BoardTimes], path: Path) -> None:
    """Write one row for each winner and board.

    Raises:
        OSError: if the file cannot be written.
    """
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(_CSV_COLUMNS)
        for times in all_times:
            for config in times.times_s:
                won = [device for device, winner in times.winners.items() if winner == config]
                for device, time_s in times.times_s[config].items():
                    failed = math.isinf(time_s)
                    writer.writerow(
                        (
                            times.problem,
                            spaced_config(config),
                            " ".join(won),
                            device,
                            "" if failed else time_s,
                            "" if failed else f"{times.regret(config, device):.6f}",
                            times.estimated,
                            "measured" if (config, device) in times.measured else "study",
                        )
                    )


def write_picture(all_times: Sequence[BoardTimes], path: Path) -> None:
    """Write a page with one heat map for each problem, which needs no network.

    Raises:
        OSError: if the file cannot be written.
    """
    plotly = (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    parts = [
        "<!doctype html><meta charset=utf-8><title>Regret</title>"
        f"<style>body{{font-family:sans-serif}}</style><script>{plotly}</script>"
    ]
    for number, times in enumerate(all_times):
        figure = json.dumps(_heat_map(times)).replace("</", "<\\/")
        parts.append(
            f"<h2>{html.escape(times.problem)}</h2><div id=figure{number}></div>"
            f"<p>{'<br>'.join(map(html.escape, least_lines(times)))}</p>"
            f"<script>{{const f={figure};"
            f"Plotly.newPlot('figure{number}',f.data,f.layout)}}</script>"
        )
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")


def _heat_map(times: BoardTimes) -> dict[str, Any]:
    devices = list(times.winners)
    percents = [
        [_finite_percent(times.regret(times.winners[row], column)) for column in devices]
        for row in devices
    ]
    return {
        "data": [
            {
                "type": "heatmap",
                "x": devices,
                "y": [f"winner of {device}" for device in devices],
                "z": percents,
                "text": [["fails" if p is None else f"{p:.0f}%" for p in row] for row in percents],
                "texttemplate": "%{text}",
                "colorscale": "YlOrRd",
                "reversescale": False,
                "colorbar": {"title": {"text": "slower by %"}},
            }
        ],
        "layout": {
            "xaxis": {"title": {"text": "runs on"}, "automargin": True},
            "yaxis": {"automargin": True, "autorange": "reversed"},
            "margin": {"t": 10},
        },
    }


def _short_names(times: BoardTimes) -> dict[str, str]:
    """Names for headings, by device: without what all of them begin with."""
    prefix = _EMULATED if all(device.startswith(_EMULATED) for device in times.winners) else ""
    return {device: device.removeprefix(prefix) for device in times.winners}


def _percent(regret: float) -> str:
    return "fails" if math.isinf(regret) else f"{regret:.0%}"


def _finite_percent(regret: float) -> float | None:
    return None if math.isinf(regret) else round(100 * regret, 1)
