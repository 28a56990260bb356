"""Keeps memory that arrays give back for the next ones, while many large ones are made."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator

__all__ = ["kept_memory"]

# Of glibc's malloc.h: parameters of mallopt, and what they are if nothing else is asked for.
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
_USUAL = {_TRIM_THRESHOLD: 128 << 10, _MMAP_MAX: 65536}
_KEPT_BYTES = 1 << 30


@contextlib.contextmanager
def kept_memory() -> Iterator[None]:
    """Within the block, up to 1 GiB that arrays give back is kept for the next ones.

    Each new array would else be memory that the system gives and clears, which took half of the
    time to run a kernel a dozen times on arrays of 32 to 250 MB, and compare its outputs.
    """
    try:
        libc = ctypes.CDLL(None)
        mallopt, trim = libc.mallopt, libc.malloc_trim
    except (AttributeError, OSError):  # another C library than glibc
        yield
        return
    mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
    mallopt(_MMAP_MAX, 0)
    try:
        yield
    finally:
        for parameter, usual in _USUAL.items():
            mallopt(parameter, usual)
        trim(0)
