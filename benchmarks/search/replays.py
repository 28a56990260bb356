"""Whole spaces that searches are replayed on: recorded ones, and made-up ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from made_up_spaces import FAMILIES

from engine.replays.on_gpus import recorded_on_gpus
from engine.replays.recorded_space import RecordedSpace
from engine.replays.shipped import SPACES
from engine.replays.space_file import read_space

__all__ = [
    "EMULATED",
    "made_up",
    "recorded",
]

# The folder of `record_space.py`.
EMULATED = SPACES / "emulated-x60"


def made_up(families: Sequence[str], spaces: int) -> list[RecordedSpace]:
    """So many spaces of each of these families."""
    return [
        RecordedSpace(f"{family}-{seed}", FAMILIES[family](seed))
        for family in families
        for seed in range(spaces)
    ]


def recorded(fewest: int) -> list[RecordedSpace]:
    """The spaces that this project recorded, of the emulated board and of GPUs.

    Args:
        fewest: spaces with fewer configurations are left out; any search exhausts them.
    """
    every = [*_in(EMULATED), *recorded_on_gpus()]
    return [space for space in every if len(space.table) >= fewest]


def _in(folder: Path) -> list[RecordedSpace]:
    return [read_space(path) for path in sorted(folder.glob("*.json.gz"))]
