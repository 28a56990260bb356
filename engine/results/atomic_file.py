"""Files that other programs read: they see the old one or the new one, and never a part."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from foundation.errors import UserError
from foundation.scratch import UNFINISHED, scratch_folder

__all__ = ["write_json_file", "write_text_file"]


def write_json_file(path: Path, values: Mapping[str, object], indent: int) -> Path:
    """Write an object as JSON, in the given order, and return the path.

    Raises:
        UserError: if it cannot be written.
    """
    return write_text_file(path, json.dumps(values, indent=indent) + "\n")


def write_text_file(path: Path, text: str) -> Path:
    """Write a file by a rename and return its path.

    Raises:
        UserError: if it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with scratch_folder(UNFINISHED, path.parent) as folder:
            written = folder / path.name
            written.write_text(text, encoding="utf-8")
            written.replace(path)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from error
    return path
