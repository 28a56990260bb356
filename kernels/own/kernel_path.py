"""The name of a kernel in a user's file: "path/file.py" or "path/file.py:KERNEL"."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["split_path"]


def split_path(text: str) -> tuple[Path, str | None]:
    """The file and the kernel's name in "path/file.py:NAME"; without a name, None."""
    named = re.fullmatch(r"(.*\.py):(\w+)", text)
    return (Path(named[1]), named[2]) if named else (Path(text), None)
