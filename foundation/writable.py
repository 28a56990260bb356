"""Whether results can be written, asked before the work that makes them."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from foundation.errors import UserError

__all__ = ["check_writable"]


def check_writable(folder: Path) -> None:
    """Refuse a folder of --out in which no file can be made.

    Folders that are missing are made for the question, and removed again.

    Raises:
        UserError: with what the system says.
    """
    missing: list[Path] = []
    try:
        missing += (one for one in (folder, *folder.parents) if not one.exists())
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError(
            f"{folder} cannot be written ({error.strerror}): give another with --out"
        ) from error
    finally:
        for one in missing:
            with contextlib.suppress(OSError):  # it was not made, or another process uses it
                one.rmdir()
