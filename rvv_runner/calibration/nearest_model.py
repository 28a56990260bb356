"""Which models of the family a board's page speaks for, and which it rules out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from rvv_runner.calibration.check_probes import (
    ASKED_4,
    ASKED_32,
    DECIDING,
    FAR,
    L2_HALF,
    L2_SMALL,
    L2_TWICE,
    PAGES,
    PAGES_ASKED,
)
from rvv_runner.calibration.family_page import Page
from rvv_runner.emulated.family import DEFAULT_MODEL, Model, models

__all__ = ["Finding", "core_text", "findings", "surprises"]

# Logarithms of cycles, or of their ratios, by what they are about, with the models that differ in
# it. Ratios cancel what a core's clock or memory has to do with all of them. A busy neighbour is no
# property of a board: one that was idle at the time may have one later.
_TOPICS: Mapping[str, tuple[tuple[str, ...], tuple[tuple[str, str | None], ...]]] = {
    "software prefetches": (
        ("prefetch-late", "prefetch-dropped", "prefetch-ignored"),
        ((ASKED_4, FAR), (ASKED_32, FAR), (PAGES_ASKED, PAGES)),
    ),
    "L2": (("wary-l2",), ((L2_HALF, L2_SMALL), (L2_TWICE, L2_SMALL))),
    "DRAM": (("fast-dram",), ((FAR, None), (PAGES, None))),
}
# A model that is further off than this, and twice as far as the nearest, is ruled out.
_OFF = math.log(1.15)
_SURPRISING = math.log(1.25)


@dataclass(frozen=True)
class Finding:
    """What a page says of one topic.

    Args:
        topic: the topic.
        nearest: name of the nearest model.
        factor: how far off that is in its worst figure, as a factor.
        ruled_out: models that are too far off, the default among them where it is.
        apart: whether the models differ in the figures at all.
    """

    topic: str
    nearest: str
    factor: float
    ruled_out: tuple[str, ...]
    apart: bool

    @property
    def is_far(self) -> bool:
        """Whether the models differ, and not even the nearest stands for the board."""
        return self.apart and math.log(self.factor) > _SURPRISING

    def __str__(self) -> str:
        if not self.apart:
            return f"{self.topic}: the models do not differ on this core"
        out = ", ".join(self.ruled_out) or "none"
        near = f"nearest is {self.nearest}, within a factor of {self.factor:.2f}"
        if self.is_far:
            near = f"no model is near, {self.nearest} is off by a factor of {self.factor:.2f}"
        return f"{self.topic}: {near}; ruled out: {out}"


def findings(page: Page, estimated: Mapping[str, Mapping[str, float]]) -> list[Finding]:
    """What the page says of each topic that it has all figures of.

    Args:
        page: of a board.
        estimated: cycles by model, by the probe's name, of the core that stands in for the board.
    """
    found = []
    for topic, (rivals, figures) in _TOPICS.items():
        names = {name for pair in figures for name in pair if name is not None}
        if names <= page.cycles.keys() and names <= estimated.keys():
            found.append(_finding(topic, rivals, figures, page, estimated))
    return found


def surprises(page: Page, estimated: Mapping[str, Mapping[str, float]]) -> list[str]:
    """A sentence for each figure that no model of the family is about, and that is far off."""
    decided = {probe.name for probe in DECIDING}
    return [
        f"{name}: {cycles:.3g} cycles, and {estimated[name][DEFAULT_MODEL]:.3g} in the model"
        for name, cycles in page.cycles.items()
        if name in estimated.keys() - decided
        and abs(math.log(cycles / estimated[name][DEFAULT_MODEL])) > _SURPRISING
    ]


def _finding(
    topic: str,
    rivals: tuple[str, ...],
    figures: tuple[tuple[str, str | None], ...],
    page: Page,
    estimated: Mapping[str, Mapping[str, float]],
) -> Finding:
    known = estimated[figures[0][0]]
    distances = {
        model: max(
            abs(
                _figure({n: each[model] for n, each in estimated.items()}, pair)
                - _figure(page.cycles, pair)
            )
            for pair in figures
        )
        for model in (DEFAULT_MODEL, *rivals)
        if model in known
    }
    nearest = min(distances, key=lambda model: distances[model])
    limit = max(_OFF, 2 * distances[nearest])
    out = tuple(model for model, distance in distances.items() if distance > limit)
    apart = max(distances.values()) - distances[nearest] > _OFF / 2
    return Finding(topic, nearest, math.exp(distances[nearest]), out, apart)


def _figure(cycles: Mapping[str, float], pair: tuple[str, str | None]) -> float:
    name, base = pair
    return math.log(cycles[name]) - (math.log(cycles[base]) if base is not None else 0.0)


def core_text(kind: str, cost_table: str, found: list[Finding]) -> str:
    """A board file of the kind with the narrowed family.

    Where the page rules out what the default does with prefetches, the nearest model's figures
    become the default's.

    Args:
        kind: name of the board file that is narrowed.
        cost_table: its file of costs.
        found: from `findings`.
    """
    out = dict.fromkeys(model for each in found if each.apart for model in each.ruled_out)
    by_name = {model.name: model for model in models()}
    default = next((by_name[each.nearest] for each in found if _replaces(each, by_name)), None)
    if default is not None:
        out[default.name] = None  # it is the default now
    names = ", ".join(f'"{name}"' for name in out if name != DEFAULT_MODEL)
    lines = [
        "# From the page of a full check.",
        f'kind = "{kind}"',
        "",
        "[emulation]",
        f'cost_table = "{cost_table}"',
        f"ruled_out = [{names}]",
    ]
    if default is not None:
        lines += ["", "[emulation.costs.memory]"]
        lines += [f"{name} = {value}" for name, value in default.set.items()]
    return "\n".join(lines) + "\n"


def _replaces(finding: Finding, by_name: Mapping[str, Model]) -> bool:
    """Whether the nearest model of a topic is to be the core's default."""
    return (
        finding.apart
        and DEFAULT_MODEL in finding.ruled_out
        and by_name[finding.nearest].is_about_prefetches
    )
