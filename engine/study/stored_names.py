"""The names of a journal's studies, for completion: importing Optuna would take a second."""

from __future__ import annotations

import json
from contextlib import suppress

from engine.study.location import is_url, storage_file

__all__ = ["stored_names"]

# As Optuna's journal numbers its operations: CREATE_STUDY and DELETE_STUDY of JournalOperation.
_CREATED, _DELETED = b'{"op_code":0,', b'{"op_code":1,'


def stored_names(storage: str) -> list[str]:
    """The studies of a journal; none for a database, which a completion should not wait for."""
    path = storage_file(storage)
    if path is None or is_url(storage) or not path.is_file():
        return []
    names: list[str | None] = []
    with path.open("rb") as file, suppress(ValueError, KeyError, IndexError):
        for line in file:
            if line.startswith(_CREATED):
                names.append(json.loads(line)["study_name"])
            elif line.startswith(_DELETED):
                names[json.loads(line)["study_id"]] = None
    return [name for name in names if name is not None]
