"""Keeps builds and measurements on this machine apart: a measurement runs alone."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from foundation.user_folders import cache_folder
from rvv_runner.board_queue import Turn, in_turn

__all__ = ["building", "measuring"]

# Builds end within a second; a lock that is held longer than this is ignored.
_PATIENCE_S = 10.0
_POLL_S = 0.005


@contextlib.contextmanager
def building() -> Iterator[None]:
    """Work that disturbs measurements; builds may overlap, but not with a measurement."""
    descriptor = os.open(_lock_path(), os.O_RDONLY | os.O_CREAT, 0o600)
    deadline = time.monotonic() + _PATIENCE_S
    try:
        while time.monotonic() < deadline:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(_POLL_S)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def measuring() -> Iterator[Turn]:
    """A measurement, which runs alone: no other measurement, and nothing inside `building`.

    Measurements run in the order in which they came. If nothing changes for ten seconds, the first
    one starts even if the lock is still held, for example by a build that hangs. If that disturbs
    the measurement, its conditions show it.
    """
    with in_turn(_lock_path(), _PATIENCE_S) as turn:
        yield turn


def _lock_path() -> Path:
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "host.lock"
