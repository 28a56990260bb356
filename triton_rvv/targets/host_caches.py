"""The sizes of this machine's data caches, as Linux shows them."""

from __future__ import annotations

from pathlib import Path

__all__ = ["cache_bytes"]

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 1 << 10, "M": 1 << 20}


def cache_bytes(level: int) -> int | None:
    """Size of the data or unified cache of a level (1 is nearest), None where it is not shown."""
    for index in _CACHES.glob("index*"):
        try:
            if (index / "type").read_text().strip() == "Instruction":
                continue
            if int((index / "level").read_text()) == level:
                text = (index / "size").read_text().strip()
                return int(text[:-1]) * _UNITS[text[-1]]
        except (OSError, ValueError, KeyError):
            continue
    return None
