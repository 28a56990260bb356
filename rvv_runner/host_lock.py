"""Keeps builds and measurements on this machine apart: a measurement runs alone."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from foundation.user_folders import cache_folder

__all__ = ["building", "measuring"]

# Builds end within a second; a lock that is held longer than this is ignored.
_PATIENCE_S = 10.0
_POLL_S = 0.005


@contextlib.contextmanager
def building() -> Iterator[None]:
    """Work that disturbs measurements; builds may overlap, but not with a measurement."""
    with _locked(fcntl.LOCK_SH):
        yield


@contextlib.contextmanager
def measuring() -> Iterator[None]:
    """A measurement, which runs alone: no other measurement, and nothing inside `building`.

    After ten seconds it starts even if the lock is still held, for example by a build that hangs.
    If that disturbs the measurement, its conditions show it.
    """
    with _locked(fcntl.LOCK_EX):
        yield


@contextlib.contextmanager
def _locked(kind: int) -> Iterator[None]:
    descriptor = os.open(_lock_path(), os.O_RDONLY | os.O_CREAT, 0o600)
    deadline = time.monotonic() + _PATIENCE_S
    try:
        while time.monotonic() < deadline:
            try:
                fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(_POLL_S)
        yield
    finally:
        os.close(descriptor)


def _lock_path() -> Path:
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "host.lock"
