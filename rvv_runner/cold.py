"""Cold caches: how a device's name asks for them, and how the launcher gets them."""

from __future__ import annotations

from typing import Literal

__all__ = ["COLD_SUFFIX", "CacheTiming", "flush_options", "split_timing"]

# How a kernel's time is taken: with what the run before left in the caches, or with caches that
# hold nothing of its arrays.
CacheTiming = Literal["warm", "cold"]

COLD_SUFFIX = "@cold"

# Caches that replace lines at random keep one of e^4 = 55 over so many times their size.
_CACHES = 4
_UNKNOWN_CACHE_BYTES = 16 << 20


def split_timing(name: str) -> tuple[str, CacheTiming]:
    """A processor's name as users type it, such as "host@cold", without how kernels are timed, and
    how. In an address, what follows the "@" is a machine."""
    if name.endswith(COLD_SUFFIX) and "://" not in name:
        return name.removesuffix(COLD_SUFFIX), "cold"
    return name, "warm"


def flush_options(timing: CacheTiming, largest_cache_bytes: int | None) -> tuple[str, ...]:
    """The launcher's options for such times.

    Args:
        timing: the way.
        largest_cache_bytes: of the caches that hold data; None if it is not known.
    """
    if timing == "warm":
        return ()
    return ("--flush", str(_CACHES * (largest_cache_bytes or _UNKNOWN_CACHE_BYTES)))
