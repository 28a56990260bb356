"""Whole spaces that searches are replayed on, and the score of a replay."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
from made_up_spaces import FAMILIES

from foundation.config import Config
from foundation.gpu_limits import GpuLimits
from foundation.shapes import Shape
from kernels.registry import load_kernel, make_problem
from rvv_runner.board import BoardInfo
from search_spaces.space import SearchSpace

__all__ = [
    "RECORDED",
    "Origin",
    "Replay",
    "made_up",
    "read_recorded",
    "recorded",
    "recorded_on_gpus",
]

Floats = npt.NDArray[np.float64]

RECORDED = Path(__file__).parent / "recorded"


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


@dataclass(frozen=True)
class Replay:
    """A space of which every time is known.

    Args:
        family: spaces of one family are reported together.
        name: of the space.
        table: times in seconds by configuration, None for a failure; also of configurations that
            today's rules forbid.
        default: what a user would run without tuning; None if there is none.
        origin: of a space that was recorded on a GPU.
    """

    family: str
    name: str
    table: Mapping[Config, float | None]
    default: Config | None = None
    origin: Origin | None = None

    @cached_property
    def space(self) -> SearchSpace:
        """The space, without a default."""
        return SearchSpace.from_configs(self.table)

    @cached_property
    def optimum_s(self) -> float:
        """The shortest time."""
        return min(time_s for time_s in self.table.values() if time_s is not None)

    @cached_property
    def worst_s(self) -> float:
        """The longest time; a search with failures alone has it too."""
        return max(time_s for time_s in self.table.values() if time_s is not None)

    def random_curve(self, trials: int) -> Floats:
        """Shape (trials,), the expected best time of so many draws without replacement.

        The i-th fastest of n is the best of k draws with probability C(n-i, k-1) / C(n, k).
        """
        times = [self.worst_s if time_s is None else time_s for time_s in self.table.values()]
        ascending, size = np.sort(times), len(times)
        place = np.arange(1, size)
        curve = np.full(trials, ascending[0])
        for draws in range(1, min(trials, size) + 1):
            ratios = np.maximum(size - place - draws + 1, 0) / (size - place)
            weights = draws / size * np.concatenate([[1.0], np.cumprod(ratios)])
            curve[draws - 1] = weights @ ascending
        return curve

    def scores(self, curves: Sequence[Sequence[float]]) -> Floats:
        """Shape (searches, trials), the performance score of each search after so many trials.

        It is the mean over the trials of the part of the way from random search to the optimum: 0
        is random search, 1 the optimum at once (Willemsen et al., "A methodology for comparing
        optimization algorithms for auto-tuning", 2024, with trials in place of seconds).

        Args:
            curves: for each search the best time in seconds after each trial.
        """
        best = np.array(curves)
        random = self.random_curve(best.shape[1])
        gap = np.maximum(random - self.optimum_s, 1e-12 * self.optimum_s)
        count = np.arange(1, best.shape[1] + 1)
        result: Floats = np.cumsum((random - best) / gap, axis=1) / count
        return result


def made_up(families: Sequence[str], spaces: int) -> list[Replay]:
    """So many spaces of each of these families."""
    return [
        Replay(family, f"{family} {seed}", FAMILIES[family](seed))
        for family in families
        for seed in range(spaces)
    ]


def recorded(fewest: int) -> list[Replay]:
    """The spaces in `recorded`, of the emulated board and of GPUs.

    Args:
        fewest: spaces with fewer configurations are left out; any search exhausts them.
    """
    emulated = [read_recorded(path) for path in sorted(RECORDED.glob("*.json"))]
    return [replay for replay in [*emulated, *recorded_on_gpus()] if len(replay.table) >= fewest]


def recorded_on_gpus() -> list[Replay]:
    """The spaces that `record_gpu_space.py` recorded, by name."""
    return [read_recorded(path) for path in sorted(RECORDED.glob("gpu/*.json"))]


def read_recorded(path: Path) -> Replay:
    """A space that `record_space.py` or `record_gpu_space.py` recorded."""
    content = json.loads(path.read_text())
    names = content["parameters"]
    count = len(names)  # then comes the time, and on a GPU a status
    table = {
        Config(dict(zip(names, row[:count], strict=True))): row[count] for row in content["rows"]
    }
    default = Config(content["default"])
    if "board" not in content:
        return Replay("emulated X60", path.stem, table, default)
    board = BoardInfo(**{**content["board"], "gpu": GpuLimits(**content["board"]["gpu"])})
    origin = Origin(content["kernel"], content["shape"], content["dtype"], board)
    return Replay("recorded GPU", path.stem, table, default, origin)
