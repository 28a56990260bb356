"""Where a capture's studies are: the same place from whichever folder it is tuned."""

from __future__ import annotations

import os
from pathlib import Path

from engine.study.location import DEFAULT_STORAGE, is_url
from foundation.errors import UserError
from kernels.captured.task_file import append_record, read_capture

__all__ = ["kept_storage"]


def kept_storage(capture: Path, asked: str) -> str:
    """The storage of a capture's studies, which its file names from then on.

    Args:
        capture: the file.
        asked: the storage that the user names, or the default. If the default, the studies stay
            in the file where the last run kept them, as long as that is there.

    Raises:
        UserError: if the capture cannot be read or written.
    """
    kept = read_capture(capture).storage
    if asked == DEFAULT_STORAGE and kept is not None and Path(kept).exists():
        is_here = Path(asked).resolve() == Path(kept)
        return asked if is_here else os.path.relpath(kept)
    if is_url(asked):  # which may hold a password
        return asked
    path = str(Path(asked).resolve())
    if path != kept:
        try:
            append_record(capture, {"record": "tuned", "storage": path})
        except OSError as error:
            raise UserError(f"{capture} cannot be written: {error.strerror}") from error
    return asked
