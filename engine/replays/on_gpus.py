"""The recorded spaces of GPUs that ship with this package, and what was measured in each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from engine.replays.recorded_space import RecordedSpace
from engine.replays.shipped import SPACES
from engine.replays.space_file import read_space
from foundation.gpu_limits import GpuLimits
from foundation.shapes import Shape
from kernels.registry import load_kernel, make_problem
from rvv_runner.board import BoardInfo
from search_spaces.space import SearchSpace

__all__ = ["Origin", "origin_of", "recorded_on_gpus"]


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
    """What was measured, of a space of `recorded_on_gpus`."""
    about = cast(Mapping[str, Any], recorded.about)
    board = BoardInfo(**{**about["board"], "gpu": GpuLimits(**about["board"]["gpu"])})
    return Origin(about["kernel"], about["shape"], about["dtype"], board)


def recorded_on_gpus() -> list[RecordedSpace]:
    """The spaces, by name; see `origin_of`."""
    return [read_space(path) for path in sorted((SPACES / "gpus").glob("*.json.gz"))]
