"""What this machine refuses a command, such as room on a full disk, as a part of a sentence."""

from __future__ import annotations

import errno
import io
import shutil
import tempfile
import traceback
from pathlib import Path

__all__ = ["full_temporary_folder", "refusal"]

# Processes write logs as they start; with less than this, they end.
_LEAST_FREE_BYTES = 1 << 20

# What the system says where the machine, and not this program, is at fault.
_REFUSALS = frozenset(
    {
        errno.EACCES,
        errno.EDQUOT,
        errno.EFBIG,
        errno.EIO,
        errno.EMFILE,
        errno.ENAMETOOLONG,
        errno.ENFILE,
        errno.ENOMEM,
        errno.ENOSPC,
        errno.EPERM,
        errno.EROFS,
    }
)

# tempfile's own words, with the number of a file that is not there.
_NO_TEMPORARY_FOLDER = "No usable temporary directory"


def refusal(error: OSError) -> str | None:
    """What this machine refuses, with the file's name; None if the program is at fault."""
    if _NO_TEMPORARY_FOLDER in str(error):
        return "no folder takes temporary files: set TMPDIR to one that you may write to"
    if error.errno not in _REFUSALS:
        return None
    what = error.filename or _written(error) or "a file or the output"
    return f"{what} cannot be used: {error.strerror}"


def full_temporary_folder() -> str | None:
    """The folder for temporary files, if its disk is full."""
    folder = tempfile.gettempdir()
    return folder if shutil.disk_usage(folder).free < _LEAST_FREE_BYTES else None


def _written(error: OSError) -> str | None:
    """The file that the innermost function with one was writing: the system names files that
    cannot be opened, and none that cannot be written to."""
    found = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        for name, value in frame.f_locals.items():
            if isinstance(value, Path) and name == "self":  # a method such as write_text
                found = str(value)
            elif isinstance(value, io.IOBase) and getattr(value, "mode", "r") not in ("r", "rb"):
                opened = getattr(value, "name", None)
                # A standard stream that some caller holds says nothing of what was written.
                if isinstance(opened, str) and not opened.startswith("<"):
                    found = opened
    return found
