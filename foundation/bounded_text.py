"""Texts of files that anyone may have written."""

from __future__ import annotations

import io
from pathlib import Path

from foundation.errors import UserError

__all__ = ["bounded_text"]

_MOST_BYTES = 1 << 28


def bounded_text(path: Path, encoding: str = "utf-8") -> str:
    """The text of a file or pipe.

    Raises:
        OSError, UnicodeDecodeError: if it cannot be read, or is not text.
        UserError: if it has more than any file that is read here; a device may never end.
    """
    with path.open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise UserError(f"{path} has more than {_MOST_BYTES >> 20} MiB: give another file")
    return io.TextIOWrapper(io.BytesIO(content), encoding).read()
