"""The recorded spaces that ship with this package, in two halves."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["HALVES", "SPACES", "Split", "family_of", "shipped_files", "split"]

SPACES = Path(__file__).parent / "spaces"
HALVES = ("test", "development")

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
    return Split({half: content[half] for half in HALVES}, content["families"])


def family_of(kernel: object) -> str:
    """The family of a kernel; the kernel's own name if it is in none."""
    for family, kernels in split().families.items():
        if kernel in kernels:
            return family
    return str(kernel or _UNKNOWN)


def shipped_files(families: Collection[str]) -> list[Path]:
    """The files of the recorded spaces of some families, ordered by folder and name."""
    return [path for path in sorted(SPACES.glob("*/*.json.gz")) if _family_in(path) in families]


def _family_in(path: Path) -> str:
    """The family of a shipped file, which is the folder's file name up to the first hyphen."""
    return family_of(path.name.partition("-")[0])
