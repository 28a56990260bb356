"""What the code that a compile depends on is, told by its contents: it changes without releases."""

from __future__ import annotations

import functools
import hashlib
from importlib.metadata import version
from pathlib import Path

__all__ = ["backend_version", "folder_digest"]


@functools.cache
def folder_digest(folder: Path) -> str:
    """Digest of every file below a package's folder, read once a process; bytecode is left out."""
    state = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            state.update(f"{path.relative_to(folder)}\0{content}\n".encode())
    return state.hexdigest()[:16]


def backend_version() -> str:
    """This back end and the LLVM that it drives, for caches of what they made."""
    return f"{folder_digest(Path(__file__).parent)}-llvmlite-{version('llvmlite')}"
