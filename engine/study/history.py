"""What earlier studies of the same kernel found: where a new study begins to look."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.study.selection import fastest_and_latest
from engine.study.storage import FORMAT_VERSION, StudyIdentity
from engine.study.trials import StoredTrial, StoredTrials
from foundation.config import Config
from foundation.shapes import distance

__all__ = ["PastStudy", "history_of"]

_HISTORY = "history"  # name of the study's attribute

# Correct trials that a study has to have before its best says anything, and how many trials are
# kept with the new study.
_FEWEST_TRIALS = 5
_KEPT_TRIALS = 200

# How far away a study is, in doublings of one dimension of the problem. By judgement: on another
# board most of what decides a block's size differs, with another compiler little does.
_ANOTHER_DTYPE = 1.0
_ANOTHER_DEVICE = 3.0
_ANOTHER_TOOLCHAIN = 0.25


@dataclass(frozen=True)
class PastStudy:
    """Trials of a study, as what another one begins with.

    Its times were taken at another shape, on another board or with another compiler; they order
    its configurations and are never results of the study that begins with them.

    Args:
        name: of the study they are from.
        trials: configurations and their times in seconds, the fastest first; None for a failure.
    """

    name: str
    trials: tuple[tuple[Config, float | None], ...]

    def to_json(self) -> dict[str, object]:
        """JSON values only."""
        return {"study": self.name, "trials": [[dict(c), time_s] for c, time_s in self.trials]}


def history_of(
    stored: StoredTrials, identity: StudyIdentity, *, may_warm_start: bool = True
) -> PastStudy | None:
    """What a study began with: the nearest study in its storage at that time, or None.

    It is looked for when a study begins, and stored with it, so that a study that is gone on with
    stays what it was.

    Args:
        stored: the study.
        identity: what it is about.
        may_warm_start: where it begins now, whether it may begin with another.
    """
    known = stored.attribute(_HISTORY)
    if known is None and not stored.is_empty:
        return None  # It began without one.
    if known is None:
        nearest = _nearest(stored, identity) if may_warm_start else None
        known = {} if nearest is None else nearest.to_json()
        stored.set_attribute(_HISTORY, known)
    match known:
        case {"study": str(name), "trials": list(rows)}:
            return PastStudy(name, tuple((Config(config), time_s) for config, time_s in rows))
    return None


def _nearest(stored: StoredTrials, identity: StudyIdentity) -> PastStudy | None:
    """The nearest study with enough trials; among equally near ones the one with most."""
    found: list[tuple[float, int, PastStudy]] = []
    for name, attributes in stored.other_studies():
        away = _distance(identity, attributes)
        if away is None:
            continue
        trials = stored.trials_of(name)
        correct = sum(trial.time_s is not None for trial in trials)
        if correct >= _FEWEST_TRIALS:
            found.append((away, -correct, PastStudy(name, _kept(trials))))
    return min(found, key=lambda entry: entry[:2])[2] if found else None


def _kept(trials: Iterable[StoredTrial]) -> tuple[tuple[Config, float | None], ...]:
    """Those with an outcome, the fastest first and failures last."""
    settled = sorted((t for t in trials if t.has_outcome), key=lambda trial: trial.number)
    places = fastest_and_latest([trial.time_s for trial in settled], _KEPT_TRIALS)
    kept = [settled[place] for place in places]
    kept.sort(key=lambda trial: (trial.time_s is None, trial.time_s or 0.0))
    return tuple((trial.config, trial.time_s) for trial in kept)


def _distance(identity: StudyIdentity, attributes: Mapping[str, object]) -> float | None:
    """How far a study with these attributes is away, or None where it is of no use."""
    shape = attributes.get("shape")
    if (
        attributes.get("format_version") != FORMAT_VERSION
        or attributes.get("kernel") != identity.kernel
        or not isinstance(shape, Mapping)
        or set(shape) != set(identity.shape)
    ):
        return None
    doublings = sum(distance(own, shape) for own in identity.shapes)
    return (
        doublings / len(identity.shapes)
        + _ANOTHER_DTYPE * (attributes.get("dtype") != identity.dtype)
        + _ANOTHER_DEVICE * (attributes.get("device") != identity.device)
        + _ANOTHER_TOOLCHAIN * (attributes.get("made_with") != dict(identity.made_with))
    )
