"""Where the cycles of a study's winner and of its default went, as a report shows it."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.explained.explained import CAUSE_MEANINGS, Explained
from engine.study.trials import StoredTrials
from foundation.config import Config
from triton_rvv.codegen.line_table import SourceLine

__all__ = [
    "Spent",
    "gaps",
    "keep_spent",
    "kept_spent",
    "line_text",
    "main_cause",
    "place_text",
    "spent_by",
]

_ATTRIBUTE = "explained"
_TEXT_WIDTH = 60
_MOST_LINES = 8


@dataclass(frozen=True)
class Spent:
    """Where the cycles of one configuration went, with the text of its lines.

    Args:
        label: its role: "winner" or "default".
        config: the configuration.
        cycles: the estimate.
        by_cause: cycles by cause; they add up to the estimate.
        by_line: cycles by the text of a source line and by cause, of the lines with the most.
    """

    label: str
    config: Config
    cycles: float
    by_cause: Mapping[str, float]
    by_line: Mapping[str, Mapping[str, float]]

    def of_line(self, line: str) -> float:
        """Cycles of a line, 0 if it has none."""
        return sum(self.by_line.get(line, {}).values())


def spent_by(explained: Iterable[Explained]) -> tuple[Spent, ...]:
    """What runs that were explained spent their cycles on."""
    return tuple(
        Spent(
            one.label,
            one.config,
            one.cycles,
            dict(one.by_cause),
            {line_text(line): dict(one.by_line[line]) for line in one.lines[:_MOST_LINES]},
        )
        for one in explained
    )


def keep_spent(stored: StoredTrials, spent: Sequence[Spent]) -> None:
    """Store it with the study, for later reports."""
    value = [
        {
            "label": one.label,
            "config": dict(one.config),
            "cycles": one.cycles,
            "by_cause": dict(one.by_cause),
            "by_line": {line: dict(causes) for line, causes in one.by_line.items()},
        }
        for one in spent
    ]
    stored.set_attribute(_ATTRIBUTE, value)


def kept_spent(stored: StoredTrials, configs: Sequence[Config]) -> tuple[Spent, ...]:
    """What is stored with the study of these configurations, in this order; empty if nothing is."""
    value = stored.attribute(_ATTRIBUTE)
    if not isinstance(value, list):
        return ()
    try:
        found = tuple(
            Spent(
                str(one["label"]),
                Config(one["config"]),
                float(one["cycles"]),
                _cycles(one["by_cause"]),
                {str(line): _cycles(causes) for line, causes in one["by_line"].items()},
            )
            for one in value
        )
    except (AttributeError, KeyError, TypeError, ValueError):  # somebody else's storage
        return ()
    return found if [one.config for one in found] == list(configs) else ()


def _cycles(value: Mapping[str, float]) -> dict[str, float]:
    return {str(cause): float(count) for cause, count in value.items() if cause in CAUSE_MEANINGS}


def gaps(winner: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    """How many cycles more than the winner another configuration spends, by cause, largest first.

    Args:
        winner, other: cycles by cause.
    """
    more = {cause: other.get(cause, 0.0) - winner.get(cause, 0.0) for cause in CAUSE_MEANINGS}
    largest = sorted(more, key=lambda cause: -abs(more[cause]))
    return {cause: more[cause] for cause in largest if more[cause]}


def main_cause(causes: Mapping[str, float]) -> str:
    """The cause of most of a line's cycles."""
    return max(causes, key=lambda cause: causes[cause])


def line_text(line: SourceLine) -> str:
    """A source line as people read it: "matmul.py:67: accumulator = tl.dot(a, b, accumulator)"."""
    if not line.number:
        return place_text(line)
    text = linecache.getline(line.file, line.number).strip()
    shown = text if len(text) <= _TEXT_WIDTH else f"{text[: _TEXT_WIDTH - 3]}..."
    return f"{place_text(line)}: {shown}"


def place_text(line: SourceLine) -> str:
    """Where a source line stands: "matmul.py:67"."""
    if not line.number:
        return f"(no line, in {line.file})"
    return f"{Path(line.file).name}:{line.number}"
