"""Folders for single runs, with those removed that killed processes have left behind."""

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
    """A folder that is there for the length of the block; its name says whose it is."""
    with tempfile.TemporaryDirectory(prefix=f"{prefix}-{os.getpid()}-") as name:
        yield Path(name)


def remove_left_behind(prefix: str) -> None:
    """Remove the scratch folders of this prefix whose processes are no more."""
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}-*-*"):
        owner = re.fullmatch(rf"{re.escape(prefix)}-(\d+)-\w+", folder.name)
        if owner and not Path("/proc", owner[1]).exists():
            with contextlib.suppress(OSError):
                shutil.rmtree(folder)
