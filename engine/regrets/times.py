"""Times of several boards' winners on each of them, and which configuration loses least."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from foundation.config import Config

__all__ = ["BoardTimes"]


@dataclass(frozen=True)
class BoardTimes:
    """The times of one problem's configurations on several boards.

    Args:
        problem: its name, such as "matmul-M256-N512-K256-fp32".
        winners: the fastest configuration that each board's study knows, by device.
        times_s: time of each winner on each device in seconds; infinity if it fails there.
        estimated: whether any time comes from a model.
        measured: which of the times no study held, as (configuration, device).
    """

    problem: str
    winners: Mapping[str, Config]
    times_s: Mapping[Config, Mapping[str, float]]
    estimated: bool
    measured: frozenset[tuple[Config, str]]

    def regret(self, config: Config, device: str) -> float:
        """How much slower than the fastest of all winners on the device: 0.25 is 25% slower.

        Infinity if it fails there, and also on a device where every winner does.
        """
        best_s = min(times[device] for times in self.times_s.values())
        time_s = self.times_s[config][device]
        return time_s / best_s - 1 if math.isfinite(time_s) else math.inf

    def worst(self, config: Config) -> float:
        """The greatest regret over all devices."""
        return max(self.regret(config, device) for device in self.winners)

    def mean(self, config: Config) -> float:
        """The geometric mean over all devices of 1 + regret, minus 1."""
        logs = [math.log1p(self.regret(config, device)) for device in self.winners]
        return math.expm1(math.fsum(logs) / len(logs))

    def least(self, score: Callable[[Config], float]) -> Config:
        """The configuration with the least `worst` or `mean`; of equals, the first."""
        return min(self.times_s, key=score)
