"""Search spaces that `record_gpu_space.py` measured on a GPU; reading them needs none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from foundation.config import Config
from foundation.gpu_limits import GpuLimits
from kernels.registry import load_kernel, make_problem
from rvv_runner.board import BoardInfo
from search_spaces.space import SearchSpace

__all__ = ["RecordedSpace", "recorded_spaces"]

_FOLDER = Path(__file__).parent / "recorded" / "gpu"


@dataclass(frozen=True)
class RecordedSpace:
    """A kernel at one shape on one GPU.

    Args:
        name: of kernel, shape and GPU.
        space: as of today, rules included.
        times_s: by configuration, those that today's rules forbid too; None for a failure.
    """

    name: str
    space: SearchSpace
    times_s: Mapping[Config, float | None]

    @property
    def best_s(self) -> float:
        """The shortest time of all."""
        return min(time_s for time_s in self.times_s.values() if time_s is not None)


def recorded_spaces() -> list[RecordedSpace]:
    """Every recorded space, by name."""
    return [_read(path) for path in sorted(_FOLDER.glob("*.json"))]


def _read(path: Path) -> RecordedSpace:
    content = json.loads(path.read_text())
    board = content["board"]
    info = BoardInfo(**{**board, "gpu": GpuLimits(**board["gpu"])})
    problem = make_problem(load_kernel(content["kernel"]), content["shape"], content["dtype"])
    names = content["parameters"]
    # Each row ends with a time in seconds and a status.
    times_s = {Config(dict(zip(names, row[:-2], strict=True))): row[-2] for row in content["rows"]}
    return RecordedSpace(path.stem, problem.space(info), times_s)
