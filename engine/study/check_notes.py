"""What a study keeps of how its outputs are checked."""

from __future__ import annotations

from engine.study.trials import StoredTrials

__all__ = ["keep_notes", "kept_notes"]

_NOTES = "check_notes"  # name of the study's attribute


def keep_notes(stored: StoredTrials, notes: tuple[str, ...]) -> tuple[str, ...]:
    """Keep sentences on the check for the report and for later runs of the study; the same ones."""
    if notes != kept_notes(stored):
        stored.set_attribute(_NOTES, list(notes))
    return notes


def kept_notes(stored: StoredTrials) -> tuple[str, ...]:
    """What `keep_notes` kept; nothing of studies of earlier versions."""
    notes = stored.attribute(_NOTES)
    return tuple(map(str, notes)) if isinstance(notes, list) else ()
