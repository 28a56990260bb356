"""What a report shows of a study, read from its storage."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.reports.importance import importances
from engine.reports.inner_loop import innermost_loop
from engine.reports.title import title
from engine.reports.verdict import Verdict, verdict
from engine.reports.why import Why
from engine.run.counters import CYCLES, counters_of
from engine.run.disturbed_trials import note_on_disturbed
from engine.run.matrix_unit import note_on_matrix_unit
from engine.run.stored_summary import stored_summary
from engine.run.summary import Summary
from engine.study.check_notes import kept_notes
from engine.study.last_space import note_on_removed
from engine.study.stored_trial import StoredTrial
from engine.study.trials import StoredTrials
from foundation.config import Config
from foundation.errors import UserError
from foundation.shapes import Shape, shape_text
from rvv_runner.assembly import assembly_file
from rvv_runner.usage import cores_in

__all__ = ["Exchange", "StudyContent", "check_comparable", "exchanges", "study_content"]


@dataclass(frozen=True)
class StudyContent:
    """One study.

    Args:
        name: of the study.
        title: what it is about, in words.
        kernel: the kernel's name.
        verdict: what to use, why, and what to try next.
        about: what it is about and what its times were made with, label by label.
        objectives: names of its objectives, the time first.
        trials: those with an outcome, and combinations that a rule forbade; in order of number.
        summary: the winner, the default, the leaders and the failures.
        importances: share of each parameter.
        loops: the innermost loop of the default and of the winner; empty texts are left out.
        check_notes: what the check of its kernel's file leaves open.
        why: where the cycles of the winner and the default went; None if that is not known.
        notes: how many trials do not count, that the winner leaves the core's matrix unit unused,
            and how many trials were disturbed.
    """

    name: str
    title: str
    kernel: str
    verdict: Verdict
    about: Mapping[str, str]
    objectives: tuple[str, ...]
    trials: tuple[StoredTrial, ...]
    summary: Summary
    importances: Mapping[str, float]
    loops: Mapping[str, str]
    check_notes: tuple[str, ...] = ()
    why: Why | None = None
    notes: tuple[str, ...] = ()

    @property
    def tried(self) -> int:
        """Number of configurations that were built."""
        return sum(trial.has_outcome for trial in self.trials)

    @property
    def default_cycles(self) -> float | None:
        """Cycles of the default, if they were counted."""
        default = self.summary.default
        return None if default is None else counters_of(default).get(CYCLES)

    def time_of(self, config: Config) -> float | None:
        """Its time in this study in seconds, infinity if it failed; None if it was not tried."""
        return next((t.time_s or math.inf for t in self.trials if t.config == config), None)


@dataclass(frozen=True)
class Exchange:
    """One study's winner, run in the other study's place.

    Args:
        place: name of the study whose problem and board it runs on.
        config_of: name of the study that it won.
        time_s: its time there; infinity if it fails there, None if that study did not try it.
        best_s: the time of the winner of `place`.
    """

    place: str
    config_of: str
    time_s: float | None
    best_s: float

    @property
    def regret(self) -> float | None:
        """How much slower than the winner there: 0.02 is two percent; None if it was not tried."""
        return None if self.time_s is None else self.time_s / self.best_s - 1


def study_content(stored: StoredTrials) -> StudyContent:
    """Read a study for its report."""
    trials = [t for t in stored.changes() if t.has_outcome or t.status == "constraint"]
    judged = [trial for trial in trials if trial.has_outcome]
    summary = stored_summary(stored, judged)
    shares = importances(judged)
    kernel, shapes = str(stored.attribute("kernel")), _shapes(stored)
    dtype, device = (str(stored.attribute(name)) for name in ("dtype", "device"))
    shape = shapes[0] if len(shapes) == 1 else None
    return StudyContent(
        name=stored.study_name,
        title=title(kernel, shapes, dtype, device, len(judged)),
        kernel=kernel,
        verdict=verdict(summary, judged, shares, kernel, shape),
        about=_about(stored),
        objectives=stored.objectives,
        trials=tuple(trials),
        summary=summary,
        importances=shares,
        loops=_loops(summary),
        check_notes=kept_notes(stored),
        notes=(
            *note_on_removed(stored),
            *note_on_matrix_unit(summary),
            *note_on_disturbed(judged),
        ),
    )


def exchanges(one: StudyContent, other: StudyContent) -> list[Exchange]:
    """Each winner in the other's place; empty unless both studies have a winner."""
    found = []
    for place, guest in ((one, other), (other, one)):
        best, winner = place.summary.winner, guest.summary.winner
        if best is None or best.time_s is None or winner is None:
            return []
        found.append(Exchange(place.name, guest.name, place.time_of(winner.config), best.time_s))
    return found


def check_comparable(one: StudyContent, other: StudyContent) -> None:
    """Refuse studies whose winners cannot run in each other's place.

    Raises:
        UserError: for studies of two kernels, or with other parameters.
    """
    if one.kernel != other.kernel:
        raise UserError(
            f"{one.name} is about {one.kernel} and {other.name} about {other.kernel}, which cannot "
            "be compared: give two studies of one kernel"
        )
    known = [{name for t in content.trials for name in t.config} for content in (one, other)]
    if all(known) and known[0] != known[1]:
        differ = ", ".join(sorted(known[0] ^ known[1]))
        raise UserError(
            f"{one.name} and {other.name} tuned different parameters ({differ}), so they cannot be "
            "compared: give two studies of one search space"
        )


def _shapes(stored: StoredTrials) -> list[Shape]:
    shape = stored.attribute("shape")
    every = shape if isinstance(shape, list) else [shape]
    return [dict(each) for each in every if isinstance(each, Mapping)]


def _about(stored: StoredTrials) -> dict[str, str]:
    made_with = stored.attribute("made_with")
    about = {
        "kernel": str(stored.attribute("kernel")),
        "shape": "; ".join(map(shape_text, _shapes(stored))),
        "element type": str(stored.attribute("dtype")),
        "device": str(stored.attribute("device")),
    }
    if cores_in(about["device"]) > 1:
        about["cores"] = f"{cores_in(about['device'])}, which run the kernel at once"
    if isinstance(made_with, Mapping):
        about |= {str(name): str(value) for name, value in made_with.items()}
    return {name: value for name, value in about.items() if value}


def _loops(summary: Summary) -> dict[str, str]:
    """From builds that are still there; one may have been removed, or made on another machine."""
    shown = {"default": summary.default, "winner": summary.winner}
    if summary.winner is summary.default:
        del shown["default"]
    loops = {}
    for label, trial in shown.items():
        elf_path = None if trial is None else trial.attributes.get("elf_path")
        path = assembly_file(Path(elf_path)) if isinstance(elf_path, str) else None
        if path is not None:
            loops[label] = innermost_loop(path.read_text())
    return {label: text for label, text in loops.items() if text}
