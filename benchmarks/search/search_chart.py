"""Draws searches of recorded spaces, and how near they come:
python benchmarks/search/search_chart.py.

Every space that this project recorded with enough configurations is searched by the default
sampler, by Optuna's TPE and by Kernel Tuner's particle swarm; random search is computed exactly.
The chart has the mean speed of the best so far, as a share of the optimum's, after each trial. It
prints the same as a table, and writes the chart as an SVG that follows a dark page.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from replays import recorded

from engine.replays.recorded_space import Floats, RecordedSpace
from engine.replays.runs import replay
from engine.replays.searches import KERNEL_TUNER
from foundation.command_line import run_script

__all__ = ["main"]

PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "search.svg"
PRINTED = (10, 25, 50)
FEWEST_CONFIGS = 101

# Left, top, width and height of the axes, and the lowest share that they show.
_LEFT, _TOP, _WIDTH, _HEIGHT = 60, 40, 520, 240
_LOWEST = 0.3
_STYLE = """
text { font: 13px sans-serif; fill: #24292f } .axis { stroke: #d0d7de } .page { fill: #ffffff }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .axis { stroke: #484f58 } .page { fill: #0d1117 }
}
""".strip()


@dataclass(frozen=True)
class Line:
    """One search in the chart.

    Args:
        name: for `engine.replays.runs.replay`, or "random".
        label, color: as the chart shows it.
    """

    name: str
    label: str
    color: str


LINES = (
    Line("auto", "this project (auto)", "#2f81f7"),
    Line("tpe", "Optuna's TPE", "#d29922"),
    Line(f"{KERNEL_TUNER}pso_small", "Kernel Tuner's particle swarm, 15 particles", "#db6d28"),
    Line("random", "random search", "#8b949e"),
)


def shares(line: Line, spaces: Sequence[RecordedSpace], seeds: int, trials: int) -> Floats:
    """Shape (spaces, trials), the optimum's time over that of the best so far, mean over seeds."""
    means = []
    for of in spaces:
        if line.name == "random":
            curves = [of.random_curve(trials)]
        else:
            runs = [replay(of, line.name, seed, trials) for seed in range(seeds)]
            curves = [of.best_so_far(run.tried, trials) for run in runs]
        means.append(np.mean([of.optimum_s / curve for curve in curves], axis=0))
    return np.array(means)


def picture(curves: Sequence[Floats], title: str) -> str:
    """The chart of a curve for each of `LINES`, each of shape (trials,), as the text of an SVG."""
    trials = len(curves[0])

    def place(trial: float, share: float) -> str:
        across = _LEFT + _WIDTH * trial / trials
        down = _TOP + _HEIGHT * (1 - (max(share, _LOWEST) - _LOWEST) / (1 - _LOWEST))
        return f"{across:.1f},{down:.1f}"

    parts = [f'<text x="{_LEFT}" y="20" font-weight="bold">{title}</text>']
    for share in (0.4, 0.6, 0.8, 1.0):
        across, down = place(0, share).split(",")
        parts.append(f'<path class="axis" d="M{across},{down} h{_WIDTH}"/>')
        parts.append(f'<text x="{_LEFT - 10}" y="{float(down) + 4}" text-anchor="end">{share:.0%}')
        parts[-1] += "</text>"
    for trial in (1, *range(10, trials + 1, 10)):
        across, down = place(trial, _LOWEST).split(",")
        parts.append(f'<text x="{across}" y="{float(down) + 18}" text-anchor="middle">{trial}')
        parts[-1] += "</text>"
    bottom = _TOP + _HEIGHT + 38
    parts.append(f'<text x="{_LEFT + _WIDTH / 2}" y="{bottom}" text-anchor="middle">trials</text>')
    for row, (line, curve) in enumerate(zip(LINES, curves, strict=True)):
        points = " ".join(place(trial + 1, share) for trial, share in enumerate(curve))
        stroke = f'stroke="{line.color}" stroke-width="2.5"'
        parts.append(f'<polyline fill="none" {stroke} points="{points}"/>')
        middle = _TOP + _HEIGHT - 88 + 16 * row
        parts.append(f'<path {stroke} d="M{_LEFT + 190},{middle - 4} h24"/>')
        parts.append(f'<text x="{_LEFT + 222}" y="{middle}">{line.label}</text>')
    size = f'viewBox="0 0 {_LEFT + _WIDTH + 20} {bottom + 12}"'
    style = f'<style>{_STYLE}</style>\n<rect class="page" width="100%" height="100%" rx="6"/>'
    return "\n".join(
        [f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', style, *parts, "</svg>\n"]
    )


def main() -> None:
    """Search, print the table and write the chart."""
    parser = argparse.ArgumentParser(description="Draws searches of recorded spaces.")
    parser.add_argument("--seeds", type=int, default=10, help="searches of each space")
    parser.add_argument("--trials", type=int, default=50, help="configurations to try")
    parser.add_argument("--out", type=Path, default=PICTURE, help="the SVG")
    arguments = parser.parse_args()
    spaces = recorded(fewest=FEWEST_CONFIGS)
    print(f"{len(spaces)} spaces:", *(f"{of.name} ({len(of.table)})" for of in spaces), sep="\n  ")
    curves = []
    for line in LINES:
        curves.append(shares(line, spaces, arguments.seeds, arguments.trials).mean(axis=0))
        cells = [f"{curves[-1][n - 1]:.3f}" for n in PRINTED if n <= arguments.trials]
        print(f"{line.label:46}", *cells, flush=True)
    title = f"Speed of the best so far, share of the optimum: mean of {len(spaces)} recorded spaces"
    arguments.out.write_text(picture(curves, title))


if __name__ == "__main__":
    run_script(main)
