"""Studies that hold what other programs found: later studies are warm-started from them.

Their device is no board's name, so that no lookup serves a configuration whose outputs nobody
checked here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.study.identity import StudyIdentity
from engine.study.selection import fastest_and_latest
from engine.study.storage import open_study
from engine.study.trials import StoredTrials
from foundation.config import Config
from foundation.shapes import Shape
from search_spaces.space import SearchSpace

__all__ = [
    "KEPT_TRIALS",
    "device_of",
    "imported_identity",
    "store_imported",
    "store_suggestions",
    "suggestions",
]

# How many of a study's trials a warm start takes, and an import keeps.
KEPT_TRIALS = 200

_IMPORTED = "imported"
_DEVICE = f"{_IMPORTED}:"
_SUGGESTIONS = "suggestions"  # name of the study's attribute


def imported_identity(
    kernel: str, shape: Shape, dtype: str, board: str, source: str
) -> StudyIdentity:
    """The identity of a study of somebody else's results.

    Args:
        kernel, shape, dtype: what they are about.
        board: that they were measured on, as studies name it.
        source: what tells them from other results, such as a digest of their file.
    """
    made_with = {_IMPORTED: source}
    return StudyIdentity(kernel, shape, dtype, f"{_DEVICE}{board}", _IMPORTED, made_with)


def device_of(attributes: Mapping[str, object]) -> str:
    """The board that a study's times are from, whoever measured them."""
    return str(attributes.get("device")).removeprefix(_DEVICE)


def store_imported(
    storage: str, identity: StudyIdentity, results: Sequence[tuple[Config, float | None]]
) -> StoredTrials | None:
    """Store somebody else's trials, the fastest and the latest of many.

    Args:
        storage: where studies are stored.
        identity: from `imported_identity`.
        results: configurations with times in seconds, None for a failure; at least one.

    Returns:
        The study; None if the storage has it already.

    Raises:
        UserError: if the storage cannot be used.
        ValueError: if the configurations name different parameters.
    """
    kept = [results[n] for n in fastest_and_latest([t for _, t in results], KEPT_TRIALS)]
    space = SearchSpace.from_configs(config for config, _ in kept)
    stored = open_study(storage, identity, space)
    if not stored.is_empty:
        return None
    for config, time_s in dict(kept).items():
        number = stored.start(config, space, {})
        stored.finish(number, time_s, "runtime" if time_s is None else "correct", {})
    return stored


def store_suggestions(
    storage: str, identity: StudyIdentity, configs: Sequence[Config]
) -> StoredTrials | None:
    """Store configurations whose times nobody knows, the most promising first.

    Args:
        storage, identity: as in `store_imported`.
        configs: at least one.

    Returns:
        The study; None if the storage has it already.

    Raises:
        UserError: if the storage cannot be used.
    """
    stored = open_study(storage, identity, SearchSpace.from_configs(configs[:1]))
    if stored.attribute(_SUGGESTIONS) is not None:
        return None
    stored.set_attribute(_SUGGESTIONS, [dict(config) for config in configs])
    return stored


def suggestions(attributes: Mapping[str, object]) -> tuple[tuple[Config, float | None], ...]:
    """A study's suggestions, each with its place instead of a time; often none."""
    listed = attributes.get(_SUGGESTIONS)
    if not isinstance(listed, list) or not all(isinstance(one, Mapping) for one in listed):
        return ()
    return tuple((Config(config), float(place)) for place, config in enumerate(listed, start=1))
