"""Triton's digest of its own files, kept from one process to the next.

Triton puts it in the key of whatever it compiles. It reads hundreds of megabytes for that, which
takes a second of every process that calls a kernel.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from foundation.errors import UserError
from foundation.scratch import UNFINISHED, scratch_folder
from foundation.user_folders import cache_folder

__all__ = ["keep_key"]

# What Triton reads for its digest (`triton.runtime.cache.triton_key`) lies in these.
_PARTS = ("_C", "backends", "compiler", "language", "runtime")


def keep_key() -> None:
    """From now on, Triton reads its files only if they are others than the last time."""
    from triton.runtime import cache

    # Triton 3.6 or later has it; another would go its own way.
    read = getattr(cache, "triton_key", None)
    if read is not None and not hasattr(read, "is_kept"):
        cache.triton_key = _kept(read, Path(cache.__file__).parents[1])


def _kept(read: Any, package: Path) -> Any:
    @functools.cache
    @functools.wraps(read)
    def triton_key() -> str:
        with contextlib.suppress(OSError, UserError):
            file = cache_folder() / "triton-keys" / _state(package)
            if not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                with scratch_folder(UNFINISHED, file.parent) as folder:
                    (folder / "key").write_text(read(), encoding="utf-8")
                    (folder / "key").replace(file)
            return file.read_text(encoding="utf-8")
        return str(read())

    triton_key.is_kept = True  # type: ignore[attr-defined]  # a mark on a function
    return triton_key


def _state(package: Path) -> str:
    """Changes when any file of Triton is written or replaced."""
    return hashlib.sha256("\n".join(sorted(_files(package))).encode()).hexdigest()[:32]


def _files(package: Path) -> Iterator[str]:
    for part in _PARTS:
        for folder, _, names in os.walk(package / part, followlinks=True):
            for name in names:
                if name.endswith(".py") or name.startswith("libtriton."):
                    path = Path(folder, name)
                    status = path.stat()
                    written = (status.st_size, status.st_mtime_ns, status.st_ctime_ns)
                    yield "\t".join(map(str, (path, *written)))
