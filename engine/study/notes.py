"""Notes of trials, where optuna-dashboard looks for them.

Its own `save_note` is not called: to import optuna-dashboard takes a second of processor time in
every command, and the function reads the notes of all trials for each that it writes.
"""

from __future__ import annotations

from optuna.storages import BaseStorage

__all__ = ["save_note"]

_PART_LENGTH = 2045  # what a database has room for


def save_note(storage: BaseStorage, study_id: int, trial_id: int, body: str) -> None:
    """Store the note of a trial that has none, in Markdown, as optuna-dashboard does."""
    parts = [body[at : at + _PART_LENGTH] for at in range(0, len(body), _PART_LENGTH)]
    storage.set_study_system_attr(study_id, f"dashboard:{trial_id}:note_ver", 1)
    for number, part in enumerate(parts):
        storage.set_study_system_attr(study_id, f"dashboard:{trial_id}:note_str:{number}", part)
