"""Files that other programs read: they see the old one or the new one, and never a part."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

from foundation.errors import UserError

__all__ = ["write_json_file", "write_text_file"]


def write_json_file(path: Path, values: Mapping[str, object], indent: int) -> Path:
    """Write an object as JSON, in the given order, and return the path.

    Raises:
        UserError: if it cannot be written.
    """
    return write_text_file(path, json.dumps(values, indent=indent) + "\n")


def write_text_file(path: Path, text: str) -> Path:
    """Write a file that everyone may read, by a rename, and return its path.

    Raises:
        UserError: if it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", dir=path.parent, delete=False, encoding="utf-8"
        ) as file:
            file.write(text)
        written = Path(file.name)
        written.chmod(0o644)
        written.replace(path)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from error
    return path
