"""Warm start: the nearest earlier study of the same kernel, and its trials."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.study.imported import KEPT_TRIALS, device_of, suggestions
from engine.study.passed_over import is_odd, note_passed_over
from engine.study.selection import fastest_and_latest
from engine.study.storage import FORMAT_VERSION, StudyIdentity
from engine.study.stored_trial import StoredTrial
from engine.study.trials import StoredTrials
from foundation.config import Config
from foundation.shapes import as_shape, distance
from rvv_runner.usage import cores_in, without_cores

__all__ = ["PastStudy", "history_of"]

_HISTORY = "history"  # name of the study's attribute

# The fewest correct trials in a study worth starting from.
_FEWEST_TRIALS = 5

# Distances of a study, in doublings of one dimension. Chosen by hand: another board changes most of
# what determines the best blocks, another toolchain little.
_ANOTHER_DTYPE = 1.0
_ANOTHER_DEVICE = 3.0
_OTHER_CORES = 0.5  # for each doubling of their number: blocks are as good, their number may not be
_ANOTHER_TOOLCHAIN = 0.25


@dataclass(frozen=True)
class PastStudy:
    """Trials that another study warm-starts from.

    The times are from another shape, board or toolchain. They rank its configurations and are never
    results of the study that starts from them.

    Args:
        name: of the study they are from.
        trials: configurations and their times in seconds, the fastest first; None for a failure.
            Of a table without times, their places in it.
    """

    name: str
    trials: tuple[tuple[Config, float | None], ...]

    def to_json(self) -> dict[str, object]:
        """JSON values only."""
        return {"study": self.name, "trials": [[dict(c), time_s] for c, time_s in self.trials]}


def history_of(
    stored: StoredTrials, identity: StudyIdentity, *, may_warm_start: bool = True
) -> PastStudy | None:
    """The study that a study warm-starts from: the nearest in its storage when it began, or None.

    The choice is stored with the study, so that resuming it does not change it.

    Args:
        stored: the study.
        identity: what it is about.
        may_warm_start: whether a study that begins now may start from another.
    """
    known = stored.attribute(_HISTORY)
    if known is None and not stored.is_empty:
        return None  # It started cold.
    if known is None:
        nearest = _nearest(stored, identity) if may_warm_start else None
        known = {} if nearest is None else nearest.to_json()
        stored.set_attribute(_HISTORY, known)
    match known:
        case {"study": str(name), "trials": list(rows)}:
            return PastStudy(name, tuple((Config(config), time_s) for config, time_s in rows))
    return None


def _nearest(stored: StoredTrials, identity: StudyIdentity) -> PastStudy | None:
    """The nearest study with enough correct trials; of equally near ones, the one with most."""
    found: list[tuple[float, int, PastStudy]] = []
    for name, attributes in stored.other_studies():
        away = _distance(identity, attributes)
        if away is None:
            if attributes.get("kernel") == identity.kernel and is_odd(attributes):
                note_passed_over(name)
            continue
        suggested = suggestions(attributes)
        if suggested:
            found.append((away, 0, PastStudy(name, suggested)))
            continue
        trials = stored.trials_of(name)
        correct = sum(trial.time_s is not None for trial in trials)
        if correct >= _FEWEST_TRIALS:
            found.append((away, -correct, PastStudy(name, _kept(trials))))
    return min(found, key=lambda entry: entry[:2])[2] if found else None


def _kept(trials: Iterable[StoredTrial]) -> tuple[tuple[Config, float | None], ...]:
    """Those with an outcome, the fastest first and failures last."""
    settled = sorted((t for t in trials if t.has_outcome), key=lambda trial: trial.number)
    places = fastest_and_latest([trial.time_s for trial in settled], KEPT_TRIALS)
    kept = [settled[place] for place in places]
    kept.sort(key=lambda trial: (trial.time_s is None, trial.time_s or 0.0))
    return tuple((trial.config, trial.time_s) for trial in kept)


def _distance(identity: StudyIdentity, attributes: Mapping[str, object]) -> float | None:
    """The distance of a study with these attributes, or None if it is about something else."""
    shape = as_shape(attributes.get("shape"))
    if (
        attributes.get("format_version") != FORMAT_VERSION
        or attributes.get("kernel") != identity.kernel
        or shape is None
        or set(shape) != set(identity.shape)
    ):
        return None
    doublings = sum(distance(own, shape) for own in identity.shapes)
    return (
        doublings / len(identity.shapes)
        + _ANOTHER_DTYPE * (attributes.get("dtype") != identity.dtype)
        + _device_distance(identity.device, device_of(attributes))
        + _ANOTHER_TOOLCHAIN * (attributes.get("made_with") != dict(identity.made_with))
    )


def _device_distance(device: str, other: str | None) -> float:
    """Between two boards, or two numbers of cores of one."""
    if other is None or without_cores(device) != without_cores(other):
        return _ANOTHER_DEVICE
    return _OTHER_CORES * abs(math.log2(cores_in(device) / cores_in(other)))
