"""zig's own files, one copy of them for all Python environments of a user."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

__all__ = ["shared_zig"]


def shared_zig(installed: Path, cache: Path, version: str) -> Path:
    """The zig that all environments of this user share, or else the installed one.

    zig knows its own files by their inodes and times: after the same files were installed a second
    time, it builds its C library again, and once more when the first environment is used again. So
    all run the files of the environment that came first, which have links in zig's cache, and stay
    there if that environment is removed.

    Args:
        installed: the program; its `lib` is beside it.
        cache: zig's global cache, which holds the C libraries.
        version: of the installed package.

    Returns:
        `installed` itself where its files cannot be linked, such as from another file system.
    """
    shared = cache / f"files-{version}" / installed.name
    try:
        if not shared.exists():
            _link_all(installed, shared.parent)
        same = shared.stat().st_size == installed.stat().st_size
    except OSError:
        return installed
    return shared if same else installed


def _link_all(installed: Path, folder: Path) -> None:
    """Links to a zig's files in a folder, which appears whole or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".files-", dir=folder.parent) as temporary:
        made = Path(temporary) / "zig"
        made.mkdir()
        os.link(installed, made / installed.name)  # fails at once where none can be linked
        shutil.copytree(installed.parent / "lib", made / "lib", copy_function=os.link)
        with contextlib.suppress(OSError):  # another process was first
            made.rename(folder)
