"""Folders for work in progress: each held by its process, those of dead processes removed."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["UNFINISHED", "held_folder", "remove_left_behind", "scratch_folder"]

# Begins the name of a folder whose contents are renamed to their place once they are whole.
UNFINISHED = ".new-"


@contextlib.contextmanager
def scratch_folder(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """A folder for the length of the block, which may rename it to keep it.

    The first folder of a process also removes those of the same prefix that killed processes left.

    Args:
        prefix: of its name.
        parent: where it is made, and exists; None for the folder of temporary files.

    Raises:
        OSError: if it cannot be made.
    """
    parent = parent or Path(tempfile.gettempdir())
    _remove_left_behind_once(prefix, parent)
    folder, held = held_folder(prefix, parent)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def held_folder(prefix: str, parent: Path) -> tuple[Path, int]:
    """A new folder that this process holds until it closes the descriptor, or ends.

    Until it is held, another process that starts may take it for one that was left behind; then
    another is made.

    Raises:
        OSError: if it cannot be made.
    """
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        with contextlib.suppress(FileNotFoundError, BlockingIOError):
            held = _hold(folder)
            if folder.exists():
                return folder, held
            os.close(held)


def remove_left_behind(prefix: str, parent: Path) -> None:
    """Remove this user's folders in `parent` that no living process holds."""
    for folder in parent.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            if folder.lstat().st_uid != os.geteuid():
                continue
            held = _hold(folder)
            shutil.rmtree(folder, ignore_errors=True)
            os.close(held)


@functools.cache
def _remove_left_behind_once(prefix: str, parent: Path) -> None:
    remove_left_behind(prefix, parent)


def _hold(folder: Path) -> int:
    """Lock `folder` for as long as this process lives, or until the descriptor is closed.

    Raises:
        FileNotFoundError: if it was removed.
        BlockingIOError: if another process holds it.
        OSError: if it is no folder; any user may put something in its place.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
