"""Where studies are stored: the default, and the files behind a storage."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

__all__ = [
    "DEFAULT_STORAGE",
    "artifacts_dir",
    "file_stem",
    "is_url",
    "reports_dir",
    "shown_storage",
    "sqlite_file",
    "storage_file",
]

# One file for all studies, so that one optuna-dashboard shows them side by side.
DEFAULT_STORAGE = "studies/tuner.journal"

_ARTIFACTS_DIR = "artifacts"
_REPORTS_DIR = "reports"
# File systems take 255, with an ending.
_MOST_BYTES_OF_A_STEM = 200


def storage_file(storage: str) -> Path | None:
    """The file that holds a storage; None for a database on a server or in memory."""
    return sqlite_file(storage) if is_url(storage) else Path(storage)


def artifacts_dir(storage: str) -> Path:
    """Next to the storage's file; next to the default storage for a database on a server."""
    return _beside(storage) / _ARTIFACTS_DIR


def reports_dir(storage: str) -> Path:
    """The folder of the reports on a storage's studies, in the same place as the artifacts'."""
    return _beside(storage) / _REPORTS_DIR


def sqlite_file(storage: str) -> Path | None:
    """The file of a SQLite database; None for another storage, and for a database in memory."""
    if not (is_url(storage) and storage.startswith("sqlite")):
        return None
    # SQLAlchemy takes a while to import, and a journal needs none of it.
    from sqlalchemy.engine import make_url

    database = make_url(storage).database
    return Path(database) if database and database != ":memory:" else None


def is_url(storage: str) -> bool:
    """Whether a storage is named by an Optuna URL, and not by the path of a journal file."""
    return "://" in storage


def shown_storage(storage: str) -> str:
    """A storage as it is printed: a database's address without its password."""
    if not is_url(storage) or "@" not in storage:
        return storage
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        return make_url(storage).render_as_string(hide_password=True)
    except (ArgumentError, ValueError):  # no port, or one that is not a number
        return f"{storage.partition('://')[0]}://***"


def file_stem(study: str) -> str:
    """A study's name as that of a file; whoever may write to the storage names studies.

    Windows, and what takes HOST:PATH, such as scp, take no colon in it.
    """
    stem = re.sub(r"[/\x00-\x1f]", "_", study.replace(":", "-"))
    if len(stem.encode()) > _MOST_BYTES_OF_A_STEM:
        digest = hashlib.sha256(stem.encode()).hexdigest()[:16]
        start = stem.encode()[: _MOST_BYTES_OF_A_STEM - len(digest) - 1].decode(errors="ignore")
        stem = f"{start}-{digest}"
    return stem if stem.strip(".") else "_"


def _beside(storage: str) -> Path:
    return (storage_file(storage) or Path(DEFAULT_STORAGE)).parent
