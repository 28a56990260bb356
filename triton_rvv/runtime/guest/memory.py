"""The memory of this process, page by page, for a kernel that runs in another one."""

from __future__ import annotations

import os
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path

import numpy as np

__all__ = ["Mapping", "SharedMemory", "mappings"]

# So much is handed over at once, at most: a kernel mostly goes on where it has begun.
_WINDOW_BYTES = 1 << 18

# Beyond are the system's own pages, at the same addresses in every process.
_END = 1 << 47


@dataclass(frozen=True)
class Mapping:
    """Addresses from `start` up to `end` that a process has memory at."""

    start: int
    end: int
    is_writable: bool = True

    def overlaps(self, other: Mapping) -> bool:
        """Whether an address is in both."""
        return self.start < other.end and other.start < self.end


def mappings(process: int | str) -> list[Mapping]:
    """What a process may read of its own memory, by address.

    Args:
        process: its number, or "self".

    Raises:
        OSError: where it has ended.
    """
    found = []
    for line in Path(f"/proc/{process}/maps").read_text(encoding="utf-8").splitlines():
        addresses, rights, *_ = line.split(maxsplit=2)
        start, end = (int(text, 16) for text in addresses.split("-"))
        if end <= _END and rights[0] == "r":
            found.append(Mapping(start, end, rights[1] == "w"))
    return found


class SharedMemory:
    """Copies of parts of this process's memory in a file without a name.

    Attributes:
        file: the number of the file, which another process may map.
    """

    def __init__(self) -> None:
        self.file = os.memfd_create("triton-rvv-guest")
        self._own = os.open("/proc/self/mem", os.O_RDWR)
        self._mappings = mappings("self")
        self._starts = [mapping.start for mapping in self._mappings]
        self._shared: dict[int, tuple[int, bytes]] = {}
        self._size_bytes = 0

    def close(self) -> None:
        """Give the file back."""
        os.close(self._own)
        os.close(self.file)

    @property
    def own(self) -> list[Mapping]:
        """What this process had memory at when the copies began."""
        return self._mappings

    def share(self, address: int) -> tuple[Mapping, int] | None:
        """Copy the memory around an address into the file.

        Returns:
            What was copied and its offset in the file. None where nothing is at that address, or
            where its surroundings have been copied before, so that something else is wrong with it.
        """
        number = bisect_right(self._starts, address) - 1
        if number < 0 or address >= self._mappings[number].end:
            return None
        whole = self._mappings[number]
        window = address // _WINDOW_BYTES * _WINDOW_BYTES
        start, end = max(window, whole.start), min(window + _WINDOW_BYTES, whole.end)
        if start in self._shared:
            return None
        try:
            content = os.pread(self._own, end - start, start)
        except OSError:
            return None
        offset = self._size_bytes
        os.pwrite(self.file, content, offset)
        self._shared[start] = (offset, content)
        self._size_bytes += len(content)
        return Mapping(start, start + len(content), whole.is_writable), offset

    def take_back(self) -> None:
        """Bring the bytes that have changed in the file into this process's memory.

        Others are left alone, since this process may have changed them meanwhile.
        """
        for start, (offset, before) in self._shared.items():
            after = os.pread(self.file, len(before), offset)
            if after != before:
                self._write_changes(start, before, after)

    def _write_changes(self, start: int, before: bytes, after: bytes) -> None:
        old, new = (np.frombuffer(content, np.uint8) for content in (before, after))
        edges = np.flatnonzero(np.diff((old != new).astype(np.int8), prepend=0, append=0))
        for first, end in edges.reshape(-1, 2).tolist():
            os.pwrite(self._own, after[first:end], start + first)
