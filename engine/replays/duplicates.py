"""Recorded spaces that several files hold, such as T4 and Kernel Tuner's cache of one study."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from engine.replays.recorded_space import RecordedSpace

__all__ = ["without_duplicates"]


def without_duplicates(
    every: Mapping[Path, RecordedSpace],
) -> tuple[dict[Path, RecordedSpace], dict[Path, Path]]:
    """Each recording once: files with the same times of the same configurations are one.

    Args:
        every: spaces by file.

    Returns:
        The spaces, of alike ones the one that says most of itself; and for each other file, which
        one that is.
    """
    by_times: dict[frozenset[object], list[Path]] = {}
    for path, of in every.items():
        by_times.setdefault(frozenset(of.table.items()), []).append(path)
    kept: dict[Path, RecordedSpace] = {}
    left_out: dict[Path, Path] = {}
    for paths in by_times.values():
        first = max(paths, key=lambda path: (len(every[path].costs_s) > 0, len(every[path].about)))
        kept[first] = every[first]
        left_out |= {path: first for path in paths if path != first}
    return kept, left_out
