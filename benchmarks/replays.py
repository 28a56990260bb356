"""Whole spaces that searches are replayed on: recorded ones, and made-up ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from made_up_spaces import FAMILIES

from engine.replays.recorded_space import RecordedSpace
from engine.replays.shipped import SPACES
from engine.replays.space_file import read_space
from foundation.gpu_limits import GpuLimits
from foundation.shapes import Shape
from kernels.registry import load_kernel, make_problem
from rvv_runner.board import BoardInfo
from search_spaces.space import SearchSpace

__all__ = [
    "EMULATED",
    "ON_GPUS",
    "Origin",
    "made_up",
    "origin_of",
    "recorded",
    "recorded_on_gpus",
]

# The folders of `record_space.py` and of `record_gpu_space.py`.
EMULATED = SPACES / "emulated-x60"
ON_GPUS = SPACES / "gpus"


@dataclass(frozen=True)
class Origin:
    """What was measured on a GPU.

    Args:
        kernel, shape, dtype: as a user names them.
        board: the GPU.
    """

    kernel: str
    shape: Shape
    dtype: str
    board: BoardInfo

    def space(self) -> SearchSpace:
        """The search space as of today, rules included."""
        problem = make_problem(load_kernel(self.kernel), self.shape, self.dtype)
        return problem.space(self.board)


def origin_of(recorded: RecordedSpace) -> Origin:
    """What was measured, of a space that `record_gpu_space.py` recorded."""
    about = cast(Mapping[str, Any], recorded.about)
    board = BoardInfo(**{**about["board"], "gpu": GpuLimits(**about["board"]["gpu"])})
    return Origin(about["kernel"], about["shape"], about["dtype"], board)


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


def recorded_on_gpus() -> list[RecordedSpace]:
    """The spaces that `record_gpu_space.py` recorded, by name; see `origin_of`."""
    return _in(ON_GPUS)


def _in(folder: Path) -> list[RecordedSpace]:
    return [read_space(path) for path in sorted(folder.glob("*.json.gz"))]
