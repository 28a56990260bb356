"""One or two studies as an HTML page that needs no network."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from engine.reports.charts import charts, compared_convergence
from engine.reports.content import StudyContent, exchanges
from engine.results.json import json_value
from engine.results.leaders import IN_TURNS
from engine.results.paste import triton_config
from engine.results.units import count_text, speedup_text, time_text
from engine.study.stored_trial import StoredTrial
from foundation.config import Config

__all__ = ["plotly_script", "report_html"]

_CORRECT = "correct"


def report_html(contents: Sequence[StudyContent], shared_plotly: str | None = None) -> str:
    """The page.

    Args:
        contents: one study, or two to be compared.
        shared_plotly: the file beside the page that draws its charts; None to put its 5 MB into
            the page.
    """
    environment = Environment(
        loader=PackageLoader("engine.reports", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Callable[..., str]] = {
        "time": lambda time_s: "-" if time_s is None else time_text(time_s),
        "count": count_text,
        "speedup": speedup_text,
        "percent": lambda share: f"{share:.1%}",
        "triton_config": triton_config,
        "breakable": _breakable,
    }
    environment.filters |= filters
    figures: dict[str, dict[str, Any]] = {}
    for number, content in enumerate(contents, 1):
        figures |= {f"{name}-{number}": figure for name, figure in charts(content).items()}
    if len(contents) > 1:
        figures["compared"] = compared_convergence(contents)
    return environment.get_template("report.html.j2").render(
        infinity=math.inf,
        contents=contents,
        figures=figures,
        exchanges=exchanges(*contents) if len(contents) > 1 else [],
        failures=[_failures(content.trials) for content in contents],
        heat=[_heat_names(content) for content in contents],
        data=_script_json({"figures": figures, "trials": [_rows(c) for c in contents]}),
        in_turns=IN_TURNS,
        style=_file("report.css"),
        script=_file("report.js"),
        plotly=None if shared_plotly else plotly_script(),
        shared_plotly=shared_plotly,
    )


def plotly_script() -> str:
    """Plotly for browsers, as its Python package has it."""
    return (files("plotly") / "package_data" / "plotly.min.js").read_text()


def _file(name: str) -> str:
    return (files("engine.reports") / name).read_text()


def _script_json(value: object) -> str:
    """JSON that may stand in a script element, whatever texts it holds."""
    text = json.dumps(json_value(value), allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _rows(content: StudyContent) -> list[dict[str, object]]:
    """Configuration and time of the correct trials, for the heat map."""
    return [
        {"config": dict(t.config), "time_ms": t.time_s * 1e3}
        for t in content.trials
        if t.time_s is not None
    ]


def _heat_names(content: StudyContent) -> list[str]:
    """Parameters with at least two values among the correct trials, the most important first."""
    correct = [trial for trial in content.trials if trial.time_s is not None]
    names = [*content.importances, *(correct[0].config if correct else ())]
    varied = [name for name in names if len({trial.config[name] for trial in correct}) > 1]
    return list(dict.fromkeys(varied))


def _breakable(shown: Config | str, sign: str = ",") -> Markup:
    """What may be broken behind a sign, as on a phone: a configuration between its parameters."""
    return Markup(f"{sign}<wbr>").join(escape(part) for part in str(shown).split(sign))


def _failures(trials: Sequence[StoredTrial]) -> list[Mapping[str, object]]:
    """One row per status and rule: how many, and the first reason."""
    rows: dict[tuple[str, str], dict[str, object]] = {}
    for trial in trials:
        if trial.status == _CORRECT:
            continue
        key = str(trial.status), str(trial.attributes.get("constraint", ""))
        row = rows.setdefault(
            key,
            {
                "status": key[0],
                "rule": key[1],
                "count": 0,
                "reason": str(trial.attributes.get("reason", "")),
                "config": trial.config,
            },
        )
        row["count"] = int(str(row["count"])) + 1
    return list(rows.values())
