"""What a study keeps of its last run's search space: the default, and what was tried outside it.

A user's file may list other configurations from run to run: who reads the study later has no file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.study.trials import StoredTrials
from foundation.config import Config
from search_spaces.space import SearchSpace

__all__ = ["LAST_SPACE", "LastSpace", "keep_space", "last_space", "note_on_removed"]

LAST_SPACE = "last_space"  # name of the study's attribute


@dataclass(frozen=True)
class LastSpace:
    """The search space of a study's last run, as far as its trials are concerned.

    Args:
        default: the space's default configuration; None if it has none.
        removed: numbers of the trials whose configurations the space does not hold.
    """

    default: Config | None
    removed: frozenset[int]


def keep_space(stored: StoredTrials, space: SearchSpace) -> None:
    """Keep what later readers of the study need to know of the space of the run that begins."""
    trials = stored.trials_of(stored.study_name)
    removed = [t.number for t in trials if t.has_outcome and not space.holds(t.config)]
    default = None if space.default is None else dict(space.default)
    kept = {"default": default, "removed": removed}
    if kept != stored.attribute(LAST_SPACE):
        stored.set_attribute(LAST_SPACE, kept)


def last_space(attribute: object) -> LastSpace | None:
    """What `keep_space` kept as that attribute; None of studies of earlier versions."""
    match attribute:
        case {"default": None | Mapping() as default, "removed": list(numbers)}:
            config = None if default is None else Config(default)
            return LastSpace(config, frozenset(n for n in numbers if type(n) is int))
    return None


def note_on_removed(stored: StoredTrials) -> tuple[str, ...]:
    """A sentence for the user, if some of a study's trials do not count."""
    space = last_space(stored.attribute(LAST_SPACE))
    if space is None or not space.removed:
        return ()
    tried = [t for t in stored.trials_of(stored.study_name) if t.has_outcome]
    removed = [trial.config for trial in tried if trial.number in space.removed]
    of_those = (
        "1 is of a configuration"
        if len(removed) == 1
        else (f"{len(removed)} are of configurations")
    )
    return (
        f"of the study's {len(tried)} trials, {of_those} that the search space does not hold now, "
        f"such as {removed[0]}: they do not count",
    )
