"""What a study keeps of how its outputs are checked."""

from __future__ import annotations

from collections.abc import Iterable

from engine.study.trials import StoredTrials
from foundation.config import Config
from kernels.spec import PROBABLY_WRONG

__all__ = [
    "WRONG_ELSEWHERE",
    "keep_notes",
    "keep_wrong_elsewhere",
    "kept_notes",
    "probably_wrong",
    "said_of",
]

# Names of the study's attributes.
_NOTES = "check_notes"
WRONG_ELSEWHERE = "wrong_elsewhere"


def keep_notes(stored: StoredTrials, notes: tuple[str, ...]) -> tuple[str, ...]:
    """Keep sentences on the check for the report and for later runs of the study; the same ones."""
    if notes != kept_notes(stored):
        stored.set_attribute(_NOTES, list(notes))
    return notes


def kept_notes(stored: StoredTrials) -> tuple[str, ...]:
    """What `keep_notes` kept; nothing of studies of earlier versions."""
    notes = stored.attribute(_NOTES)
    return tuple(map(str, notes)) if isinstance(notes, list) else ()


def probably_wrong(notes: Iterable[str]) -> str:
    """The one of such sentences that belongs into the verdict; "" if there is none."""
    return next((note for note in notes if note.startswith(PROBABLY_WRONG)), "")


def keep_wrong_elsewhere(stored: StoredTrials, config: Config, said: str) -> None:
    """Keep at which other sizes a configuration is wrong, in one sentence; "" for none."""
    if said != said_of(stored.attribute(WRONG_ELSEWHERE), config):
        stored.set_attribute(WRONG_ELSEWHERE, {"config": dict(config), "says": said})


def said_of(kept: object, config: Config) -> str:
    """What `keep_wrong_elsewhere` kept as that attribute of this configuration, or else ""."""
    if not isinstance(kept, dict) or kept.get("config") != dict(config):
        return ""
    return str(kept.get("says", ""))
