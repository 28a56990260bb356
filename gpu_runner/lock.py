"""Keeps the measurements of several programs on one GPU apart."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator

from foundation.user_folders import cache_folder

__all__ = ["measuring_on"]

_PATIENCE_S = 30.0  # a lock that is held longer than this is ignored: its holder may hang
_POLL_S = 0.002


@contextlib.contextmanager
def measuring_on(name: str) -> Iterator[None]:
    """A measurement, which has the GPU to itself among the measurements of this project.

    Args:
        name: of the GPU, the same in every program of this machine.
    """
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / f"{name}.lock", os.O_RDONLY | os.O_CREAT, 0o600)
    deadline = time.monotonic() + _PATIENCE_S
    try:
        while time.monotonic() < deadline:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(_POLL_S)
        yield
    finally:
        os.close(descriptor)
