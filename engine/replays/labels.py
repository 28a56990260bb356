"""Names of searches and of spaces in tables and charts: as short as tells them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from engine.replays.searches import FILE_MARK, file_and_name
from engine.replays.space_file import space_name

__all__ = ["search_labels", "space_labels"]

Key = TypeVar("Key")


def search_labels(names: Sequence[str]) -> dict[str, str]:
    """The sampler, the class or the file of each search; more where two would be alike."""
    return _told_apart({name: _forms(name) for name in names})


def space_labels(names: Mapping[Path, str]) -> dict[Path, str]:
    """The name of the space in each file; of spaces of one name, the files and their folders."""
    return _told_apart({path: [name, *_endings(path)] for path, name in names.items()})


def _told_apart(forms: Mapping[Key, Sequence[str]]) -> dict[Key, str]:
    """Of each key's forms, shortest first, the first that no other key has."""
    left = dict(forms)
    while True:
        often = Counter(of[0] for of in left.values())
        alike = [key for key, of in left.items() if often[of[0]] > 1 and len(of) > 1]
        if not alike:
            return {key: of[0] for key, of in left.items()}
        left |= {key: left[key][1:] for key in alike}


def _forms(name: str) -> list[str]:
    """A search's name, shortened as much as possible, less and not at all."""
    if FILE_MARK in name:
        path, function = file_and_name(name)
        return [path.stem, f"{path.stem}:{function}", name]
    return [name.rpartition(":")[2].rpartition(".")[2], name]


def _endings(path: Path) -> list[str]:
    """A path without its suffix, from the name alone to the whole, and then with it."""
    parts = [*path.absolute().parts[:-1], space_name(path)]
    return [*("/".join(parts[start:]) for start in range(len(parts) - 1, 0, -1)), str(path)]
