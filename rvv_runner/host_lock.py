"""Keeps builds and measurements on this machine apart: who measures has it for itself."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from rvv_runner.cache_folder import cache_folder

__all__ = ["building", "measuring"]

# Builds end within a second; whoever holds the lock longer than this is not waited for.
_PATIENCE_S = 10.0
_POLL_S = 0.005


@contextlib.contextmanager
def building() -> Iterator[None]:
    """Work that disturbs measurements; any number may go on at once, none during one."""
    with _locked(fcntl.LOCK_SH):
        yield


@contextlib.contextmanager
def measuring() -> Iterator[None]:
    """A measurement: no other goes on meanwhile, and nothing inside `building`.

    It begins after ten seconds even where the lock is still held, as by a build that hangs: what
    was taken under bad conditions is found out by them.
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
