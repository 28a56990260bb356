"""Which models of the family a board's page speaks for, and which it rules out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

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
from rvv_runner.emulated.costs import CostTable
from rvv_runner.emulated.family import DEFAULT_MODEL, Model, models

__all__ = ["Finding", "core_text", "findings", "models_left", "surprises"]


@dataclass(frozen=True)
class _Figure:
    """What a page says in one figure: a share of the time that misses take, or cycles.

    The share is that of (slow - fast) / (slow - floor), of which a core's clock and the latency of
    its DRAM make little: by how much prefetches shorten misses, how many lines L2 keeps.
    """

    name: str
    slow: str | None = None
    floor: str | None = None

    @property
    def probes(self) -> set[str]:
        return {name for name in (self.name, self.slow, self.floor) if name is not None}

    def apart(self, one: Mapping[str, float], other: Mapping[str, float]) -> float:
        """How far apart two boards are, by the cycles of their probes."""
        if self.slow is None:
            return math.expm1(abs(math.log(one[self.name] / other[self.name])))
        return abs(self._share(one, self.slow) - self._share(other, self.slow))

    def _share(self, cycles: Mapping[str, float], slow: str) -> float:
        floor = 0.0 if self.floor is None else cycles[self.floor]
        saved = cycles[slow] - cycles[self.name]
        return saved / max(cycles[slow] - floor, 1e-9)


# What each topic is told by, and the models that differ in it. A busy neighbour is no property of a
# board: one that was idle at the time may have one later.
_TOPICS: Mapping[str, tuple[tuple[str, ...], tuple[_Figure, ...]]] = {
    "software prefetches": (
        ("prefetch-late", "prefetch-dropped", "prefetch-ignored"),
        (_Figure(ASKED_4, FAR), _Figure(ASKED_32, FAR), _Figure(PAGES_ASKED, PAGES)),
    ),
    "L2": (("wary-l2",), (_Figure(L2_HALF, FAR, L2_SMALL), _Figure(L2_TWICE, FAR, L2_SMALL))),
    "DRAM": (("fast-dram",), (_Figure(FAR), _Figure(PAGES))),
}
# A model that is further off than this, and twice as far as the nearest, is ruled out.
_OFF = 0.08
_FAR_OFF = 0.25


@dataclass(frozen=True)
class Finding:
    """What a page says of one topic.

    Args:
        topic: the topic.
        nearest: name of the nearest model.
        off: how far off that is in its worst figure.
        ruled_out: models that are too far off, the default among them where it is; none where the
            nearest is too far off itself to speak for the board.
        apart: whether the models differ in the figures at all.
    """

    topic: str
    nearest: str
    off: float
    ruled_out: tuple[str, ...]
    apart: bool

    @property
    def is_far(self) -> bool:
        """Whether the models differ, and not even the nearest stands for the board."""
        return self.apart and self.off > _FAR_OFF

    def __str__(self) -> str:
        if not self.apart:
            return f"{self.topic}: the models do not differ on this core"
        out = ", ".join(self.ruled_out) or "none"
        says = next(model.says for model in models() if model.name == self.nearest)
        near = f"nearest is {self.nearest} ({says}), {self.off:.0%} off at most"
        if self.is_far:
            near = f"no model is near, {self.nearest} is {self.off:.0%} off"
        return f"{self.topic}: {near}; ruled out: {out}"


def findings(page: Page, estimated: Mapping[str, Mapping[str, float]]) -> list[Finding]:
    """What the page says of each topic that it has all figures of.

    Args:
        page: of a board.
        estimated: cycles by model, by the probe's name, of the core that stands in for the board.
    """
    found = []
    for topic, (rivals, figures) in _TOPICS.items():
        names = set[str]().union(*(figure.probes for figure in figures))
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
        and abs(math.log(cycles / estimated[name][DEFAULT_MODEL])) > math.log1p(_FAR_OFF)
    ]


def _finding(
    topic: str,
    rivals: tuple[str, ...],
    figures: tuple[_Figure, ...],
    page: Page,
    estimated: Mapping[str, Mapping[str, float]],
) -> Finding:
    known = estimated[figures[0].name]
    off = {
        model: max(
            figure.apart({name: each[model] for name, each in estimated.items()}, page.cycles)
            for figure in figures
        )
        for model in (DEFAULT_MODEL, *rivals)
        if model in known
    }
    nearest = min(off, key=lambda model: off[model])
    limit = max(_OFF, 2 * off[nearest])
    out = tuple(model for model, distance in off.items() if distance > limit)
    apart = max(off.values()) - off[nearest] > _OFF / 2
    finding = Finding(topic, nearest, off[nearest], out, apart)
    return replace(finding, ruled_out=()) if finding.is_far else finding


def core_text(kind: str, table: CostTable, found: list[Finding]) -> str:
    """A board file of the kind with the narrowed family.

    Where the page rules out the default, the nearest model's figures become the default's.

    Args:
        kind: name of the board file that is narrowed.
        table: its costs.
        found: from `findings`.
    """
    chosen, out = _narrowed(found)
    names = ", ".join(f'"{name}"' for name in out)
    lines = ["# From the page of a full check.", f'kind = "{kind}"', ""]
    lines += ["[emulation]", f"ruled_out = [{names}]"]
    if chosen:
        lines += ["", "[emulation.costs.memory]"]
    for model in chosen:
        lines += [f"{name} = {value:g}" for name, value in model.memory_figures(table).items()]
    return "\n".join(lines) + "\n"


def models_left(found: list[Finding]) -> str:
    """The models that a core has once it is narrowed, in words."""
    chosen, out = _narrowed(found)
    names = [model.name for model in models() if model.name not in out]
    names[0] = " and ".join(model.name for model in chosen) or DEFAULT_MODEL
    return f"{len(names)} of {len(models())}: {', '.join(names)}"


def _narrowed(found: list[Finding]) -> tuple[list[Model], list[str]]:
    """The models whose figures become the default's, and the names of those that are left out."""
    by_name = {model.name: model for model in models()}
    apart = [each for each in found if each.apart]
    chosen = [by_name[each.nearest] for each in apart if DEFAULT_MODEL in each.ruled_out]
    out = {model for each in apart for model in each.ruled_out} - {DEFAULT_MODEL}
    out |= {model.name for model in chosen}  # they are the default now
    return chosen, [name for name in by_name if name in out]
