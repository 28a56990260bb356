"""Whether a file is a journal of studies, by its first bytes: importing Optuna takes seconds."""

from __future__ import annotations

from pathlib import Path

from engine.study.location import is_url, shown_storage
from foundation.errors import UserError

__all__ = [
    "NotAJournalError",
    "check_is_journal",
    "check_storage",
    "unusable_storage",
]

# How every line of a journal begins; a file that begins otherwise is somebody else's.
_LINE_START = b'{"op_code":'


class NotAJournalError(ValueError):
    """A file that is not a journal of Optuna's; it has not been touched."""


def check_is_journal(path: Path) -> None:
    """Refuse a file that holds something else.

    Raises:
        NotAJournalError: if it does.
        OSError: if it cannot be read.
    """
    if not (path.is_file() or path.is_dir()):  # to open a pipe would wait for its other end
        raise NotAJournalError(f"{path} is not a file")
    with path.open("rb") as file:
        start = file.read(len(_LINE_START))
    if not _LINE_START.startswith(start):
        raise NotAJournalError(f"{path} is not a journal file")


def check_storage(storage: str) -> None:
    """Refuse a storage whose file is there and is no journal; of others, nothing is known yet.

    Raises:
        UserError: with what to give.
    """
    if is_url(storage) or not Path(storage).exists():
        return
    try:
        check_is_journal(Path(storage))
    except (NotAJournalError, OSError) as error:
        raise unusable_storage(storage, error) from error


def unusable_storage(storage: str, error: Exception) -> UserError:
    """An error of a storage as one sentence."""
    reason = (str(error).splitlines() or [type(error).__name__])[0].strip().rstrip(".")
    return UserError(
        f"the storage {shown_storage(storage)} cannot be used ({reason}): give --storage "
        "the path of a journal file, which is created if missing, or an Optuna storage URL"
    )
