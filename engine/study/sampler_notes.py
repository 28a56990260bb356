"""What a sampler keeps with its trials, stored where others may write as well.

Samplers of Optuna unpickle texts in their notes, which runs whatever code the text says. So texts
count only where a program of this user wrote them; numbers count from anybody.
"""

from __future__ import annotations

from collections.abc import Mapping

from foundation.own_key import is_own, mark_of

__all__ = ["notes_attributes", "notes_from"]

_NOTES = "sampler_notes"
_MARK = "notes_mark"


def notes_attributes(notes: Mapping[str, object]) -> dict[str, object]:
    """The attributes of a trial that keep notes; JSON values only."""
    if not notes:
        return {}
    mark = {} if all(map(_holds_numbers, notes.values())) else {_MARK: mark_of(dict(notes))}
    return {_NOTES: dict(notes), **mark}


def notes_from(attributes: Mapping[str, object]) -> Mapping[str, object]:
    """The notes among a trial's attributes, without others' texts."""
    notes = attributes.get(_NOTES)
    if not isinstance(notes, Mapping):
        return {}
    numbers = {name: value for name, value in notes.items() if _holds_numbers(value)}
    if len(numbers) < len(notes) and is_own(notes, attributes.get(_MARK)):
        return notes
    return numbers


def _holds_numbers(value: object) -> bool:
    """Whether a JSON value has no text in it, at any depth."""
    if isinstance(value, list | tuple):
        return all(map(_holds_numbers, value))
    return value is None or isinstance(value, int | float)
