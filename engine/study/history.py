"""Warm start: the nearest earlier study of the kernel, or of a sister kernel, and its trials."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from engine.study.identity import FORMAT_VERSION, StudyIdentity
from engine.study.imported import KEPT_TRIALS, device_of, suggestions
from engine.study.passed_over import is_odd, note_passed_over
from engine.study.selection import fastest_and_latest
from engine.study.stored_trial import StoredTrial
from engine.study.trials import StoredTrials
from foundation.config import Config
from foundation.shapes import as_shape, distance
from rvv_runner.usage import cores_in, without_cores
from search_spaces.space import SearchSpace

__all__ = ["PastStudy", "history_of", "warm_started_from"]

_HISTORY = "history"  # name of the study's attribute

# The fewest correct trials in a study worth starting from.
_FEWEST_TRIALS = 5

# Distances of a study, in doublings of one dimension. Chosen by hand: another board changes most of
# what determines the best blocks, another toolchain little.
_ANOTHER_DTYPE = 1.0
_ANOTHER_DEVICE = 3.0
_OTHER_CORES = 0.5  # for each doubling of their number: blocks are as good, their number may not be
_ANOTHER_TOOLCHAIN = 0.25

# The least part of the parameters of two kernels that both have, for one to start from the other,
# and the fewest correct trials of such a study: fewer make no transfer model. On recorded spaces
# kernels that share half of their parameters mislead as often as they help, and so do kernels that
# share all of them by chance: M and N with BLOCK_M and BLOCK_N are common.
_SHARED_PARAMETERS = 0.6
_FEWEST_SISTER_TRIALS = 20


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
    stored: StoredTrials,
    identity: StudyIdentity,
    space: SearchSpace,
    *,
    may_warm_start: bool = True,
) -> PastStudy | None:
    """The study that a study warm-starts from: the nearest in its storage when it began, or None.

    It is one of the same kernel, or if there is none, of a sister: a kernel whose name begins as
    its own, such as `matmul_bias` beside `matmul`, with the same dimensions and mostly the same
    parameters, on the same board. The choice is stored with the study, so that resuming it does
    not change it.

    Args:
        stored: the study.
        identity: what it is about.
        space: its search space.
        may_warm_start: whether a study that begins now may start from another.
    """
    known = stored.attribute(_HISTORY)
    if known is None and not stored.is_empty:
        return None  # It started cold.
    if known is None:
        nearest = _nearest(stored, identity, space) if may_warm_start else None
        known = {} if nearest is None else nearest.to_json()
        stored.set_attribute(_HISTORY, known)
    match known:
        case {"study": str(name), "trials": list(rows)}:
            return PastStudy(name, tuple((Config(config), time_s) for config, time_s in rows))
    return None


def warm_started_from(stored: StoredTrials) -> str | None:
    """Name of the study that a study started from; None if it started cold."""
    known = stored.attribute(_HISTORY)
    name = known.get("study") if isinstance(known, Mapping) else None
    return name if isinstance(name, str) else None


def _nearest(stored: StoredTrials, identity: StudyIdentity, space: SearchSpace) -> PastStudy | None:
    """The nearest study with enough correct trials; of equally near ones, the one with most."""
    found: list[tuple[float, int, PastStudy]] = []
    sisters: list[tuple[float, str]] = []
    for name, attributes in stored.other_studies():
        away = _distance(identity, attributes)
        if attributes.get("kernel") != identity.kernel:
            if away is not None and _is_sister(identity, attributes):
                sisters.append((away, name))
            continue
        if away is None:
            if is_odd(attributes):
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
    if not found:
        return _nearest_sister(stored, sisters, space)
    return min(found, key=lambda entry: entry[:2])[2]


def _nearest_sister(
    stored: StoredTrials, sisters: Iterable[tuple[float, str]], space: SearchSpace
) -> PastStudy | None:
    """The study that shares most parameters; of equal ones, the nearest.

    Args:
        stored: the study that begins.
        sisters: studies of other kernels: how far away each is, and its name.
        space: of the study that begins.
    """
    own = {parameter.name for parameter in space.parameters if len(parameter.values) > 1}
    found: list[tuple[float, float, PastStudy]] = []
    for away, name in sisters:
        trials = stored.trials_of(name)
        if sum(trial.time_s is not None for trial in trials) < _FEWEST_SISTER_TRIALS:
            continue
        shared = _shared(own, [trial.config for trial in trials])
        if shared >= _SHARED_PARAMETERS:
            found.append((-shared, away, PastStudy(name, _kept(trials))))
    return min(found, key=lambda entry: entry[:2])[2] if found else None


def _shared(own: Set[str], configs: Sequence[Config]) -> float:
    """The part of all parameters with several values that are among both."""
    names = configs[0].keys()
    other = {name for name in names if len({config.get(name) for config in configs}) > 1}
    return len(own & other) / len(own | other) if own | other else 0.0


def _kept(trials: Iterable[StoredTrial]) -> tuple[tuple[Config, float | None], ...]:
    """Those with an outcome, the fastest first and failures last."""
    settled = sorted((t for t in trials if t.has_outcome), key=lambda trial: trial.number)
    places = fastest_and_latest([trial.time_s for trial in settled], KEPT_TRIALS)
    kept = [settled[place] for place in places]
    kept.sort(key=lambda trial: (trial.time_s is None, trial.time_s or 0.0))
    return tuple((trial.config, trial.time_s) for trial in kept)


def _distance(identity: StudyIdentity, attributes: Mapping[str, object]) -> float | None:
    """The distance of a study with these attributes, or None if its dimensions are others."""
    shape = as_shape(attributes.get("shape"))
    if (
        attributes.get("format_version") != FORMAT_VERSION
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


def _is_sister(identity: StudyIdentity, attributes: Mapping[str, object]) -> bool:
    """Whether the words of one kernel's name begin the other's, on one board with any cores."""
    if without_cores(identity.device) != without_cores(device_of(attributes)):
        return False
    words = [name.split("_") for name in (identity.kernel, str(attributes.get("kernel")))]
    return all(own == other for own, other in zip(*words, strict=False))


def _device_distance(device: str, other: str | None) -> float:
    """Between two boards, or two numbers of cores of one."""
    if other is None or without_cores(device) != without_cores(other):
        return _ANOTHER_DEVICE
    return _OTHER_CORES * abs(math.log2(cores_in(device) / cores_in(other)))
