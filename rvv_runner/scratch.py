"""Folders for single runs, and the removal of those that killed processes left behind."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["remove_left_behind", "scratch_folder"]


@contextlib.contextmanager
def scratch_folder(prefix: str) -> Iterator[Path]:
    """A folder for the length of the block; its name holds the process that owns it."""
    with tempfile.TemporaryDirectory(prefix=f"{prefix}-{os.getpid()}-") as name:
        yield Path(name)


def remove_left_behind(prefix: str) -> None:
    """Remove the scratch folders with this prefix whose processes have ended."""
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}-*-*"):
        owner = re.fullmatch(rf"{re.escape(prefix)}-(\d+)-\w+", folder.name)
        if owner and not Path("/proc", owner[1]).exists():
            with contextlib.suppress(OSError):
                shutil.rmtree(folder)
