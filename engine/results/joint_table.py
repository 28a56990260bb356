"""One configuration for several shapes: the winner's speed-up and cost at each of them."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import geometric_mean

from rich.box import SIMPLE
from rich.table import Table

from engine.results.units import speedup_text, time_text
from engine.run.shape_times import ShapeTimes

__all__ = ["shape_lines", "shapes_table"]


def shapes_table(shapes: Mapping[str, ShapeTimes], estimate: str) -> Table:
    """One row per shape, and one with the geometric means.

    Args:
        shapes: the times at each.
        estimate: what to say of them if they come from a model, else "".
    """
    label = f" ({estimate})" if estimate else ""
    table = Table(title=f"The winner at each shape{label}", box=SIMPLE)
    table.add_column("shape", no_wrap=True)
    for heading in ("default", "winner", "speed-up", "fastest tried", "winner slower by"):
        table.add_column(heading, justify="right")
    for shape, times in [*shapes.items(), ("geometric mean", _mean(shapes))]:
        table.add_row(
            shape,
            "-" if times.default_s is None else time_text(times.default_s),
            time_text(times.winner_s),
            speedup_text(times.speedup),
            time_text(times.fastest_s),
            f"{times.cost:.1%}",
        )
    return table


def shape_lines(shapes: Mapping[str, ShapeTimes]) -> list[str]:
    """The same as lines of key=value fields separated by tabs."""
    lines = []
    for shape, times in [*shapes.items(), ("geometric mean", _mean(shapes))] if shapes else []:
        fields = [f"shape={shape}", f"time_s={times.winner_s:.9f}"]
        if times.default_s is not None:
            fields.append(f"default_time_s={times.default_s:.9f}\tspeedup={times.speedup:.3f}")
        fields.append(f"fastest_tried_s={times.fastest_s:.9f}\tslower={times.cost:.4f}")
        lines.append("\t".join(fields))
    return lines


def _mean(shapes: Mapping[str, ShapeTimes]) -> ShapeTimes:
    every = list(shapes.values())
    defaults = [times.default_s for times in every if times.default_s is not None]
    return ShapeTimes(
        winner_s=geometric_mean(times.winner_s for times in every),
        default_s=geometric_mean(defaults) if defaults else None,
        fastest_s=geometric_mean(times.fastest_s for times in every),
    )
