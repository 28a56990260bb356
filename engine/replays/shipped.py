"""The recorded spaces that ship with this package, in two halves of each set."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["PARTS", "SPACES", "Split", "family_of", "shipped_files", "split"]

SPACES = Path(__file__).parent / "spaces"
_HALVES = ("test", "development")
# The folders of each set, by what follows the name of a half. The first set stays as it is, so that
# figures of different versions can be compared; what is recorded later makes a set of its own.
_SETS: Mapping[str, Sequence[str]] = {
    "": ("benchmark-hub", "emulated-x60", "gpus"),
    "-2": ("emulated-boards",),
    "-3": ("emulated-large",),
}
# What can be replayed by name: each half of each set; the third has one space.
PARTS = ("test", "development", "test-2", "development-2", "test-3")

# A kernel that is in no family, as in the user's own files, is a family of its own.
_UNKNOWN = "other"


@dataclass(frozen=True)
class Split:
    """Which families are for changing the search, and which for scoring it.

    Args:
        halves: the families of each half, by its name.
        families: the kernels of each family.
    """

    halves: Mapping[str, Sequence[str]]
    families: Mapping[str, Sequence[str]]


@cache
def split() -> Split:
    """What spaces/split.toml says."""
    content = tomllib.loads((SPACES / "split.toml").read_text(encoding="utf-8"))
    return Split({half: content[half] for half in _HALVES}, content["families"])


def family_of(kernel: object) -> str:
    """The family of a kernel; the kernel's own name if it is in none."""
    for family, kernels in split().families.items():
        if kernel in kernels:
            return family
    return str(kernel or _UNKNOWN)


def shipped_files(part: str, families: Collection[str] | None = None) -> list[Path]:
    """The files of one of `PARTS`, ordered by folder and name.

    Args:
        part: its name.
        families: only these; all if None.
    """
    half, dash, number = part.partition("-")
    within = [name for name in split().halves[half] if families is None or name in families]
    folders = [SPACES / folder for folder in _SETS[dash + number]]
    paths = (path for folder in folders for path in sorted(folder.glob("*.json.gz")))
    return [path for path in paths if _family_in(path) in within]


def _family_in(path: Path) -> str:
    """The family of a shipped file, which is the folder's file name up to the first hyphen."""
    return family_of(path.name.partition("-")[0])
