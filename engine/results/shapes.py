"""One configuration for several shapes: what the winner brings and costs at each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from rich.box import SIMPLE
from rich.table import Table

from engine.results.units import speedup_text, time_text
from engine.trials import StoredTrial

__all__ = ["ShapeTimes", "shape_lines", "shapes_table", "times_at", "times_at_shapes"]


@dataclass(frozen=True)
class ShapeTimes:
    """Times in seconds at one shape.

    Args:
        winner_s: of the configuration that is best for all shapes.
        default_s: of the default configuration, None where it was not measured.
        quickest_s: of the quickest configuration tried at this shape, among those that were right
            at all.
    """

    winner_s: float
    default_s: float | None
    quickest_s: float

    @property
    def speedup(self) -> float | None:
        """How many times faster than the default the winner is here."""
        return None if self.default_s is None else self.default_s / self.winner_s

    @property
    def cost(self) -> float:
        """How much longer the winner takes than the quickest tried here: 0.02 is two percent."""
        return self.winner_s / self.quickest_s - 1


def times_at(trial: StoredTrial) -> dict[str, float]:
    """A correct trial's time in seconds at each shape; empty in a study of one shape."""
    stored = trial.attributes.get("shapes")
    if trial.status != "correct" or not isinstance(stored, Mapping):
        return {}
    return {str(shape): float(part["time_s"]) for shape, part in stored.items()}


def times_at_shapes(
    correct: Sequence[StoredTrial], winner: StoredTrial, default: StoredTrial | None
) -> dict[str, ShapeTimes]:
    """The winner's times beside others, by shape; empty in a study of one shape.

    Args:
        correct: every correct trial.
        winner, default: two of them.
    """
    defaults = {} if default is None else times_at(default)
    every = [times_at(trial) for trial in correct]
    return {
        shape: ShapeTimes(time_s, defaults.get(shape), min(times_s[shape] for times_s in every))
        for shape, time_s in times_at(winner).items()
    }


def shapes_table(shapes: Mapping[str, ShapeTimes], *, estimated: bool) -> Table:
    """A row for each shape, and one with the geometric means."""
    label = " (estimated)" if estimated else ""
    table = Table(title=f"The winner at each shape{label}", box=SIMPLE)
    table.add_column("shape", no_wrap=True)
    for heading in ("default", "winner", "speed-up", "quickest tried", "winner slower by"):
        table.add_column(heading, justify="right")
    for shape, times in [*shapes.items(), ("geometric mean", _mean(shapes))]:
        table.add_row(
            shape,
            "-" if times.default_s is None else time_text(times.default_s),
            time_text(times.winner_s),
            speedup_text(times.speedup),
            time_text(times.quickest_s),
            f"{times.cost:.1%}",
        )
    return table


def shape_lines(shapes: Mapping[str, ShapeTimes]) -> list[str]:
    """The same as lines of key=value fields with tabs between."""
    lines = []
    for shape, times in [*shapes.items(), ("geometric mean", _mean(shapes))] if shapes else []:
        fields = [f"shape={shape}", f"time_s={times.winner_s:.9f}"]
        if times.default_s is not None:
            fields.append(f"default_time_s={times.default_s:.9f}\tspeedup={times.speedup:.3f}")
        fields.append(f"quickest_tried_s={times.quickest_s:.9f}\tslower={times.cost:.4f}")
        lines.append("\t".join(fields))
    return lines


def _mean(shapes: Mapping[str, ShapeTimes]) -> ShapeTimes:
    every = list(shapes.values())
    defaults = [times.default_s for times in every if times.default_s is not None]
    return ShapeTimes(
        winner_s=geometric_mean(times.winner_s for times in every),
        default_s=geometric_mean(defaults) if defaults else None,
        quickest_s=geometric_mean(times.quickest_s for times in every),
    )
