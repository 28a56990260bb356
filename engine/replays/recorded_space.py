"""A space of which every time is known, and the score of a search that is replayed on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from foundation.config import Config
from search_spaces.space import SearchSpace

__all__ = ["Floats", "RecordedSpace"]

Floats = npt.NDArray[np.float64]

# By time, a score is the mean over so many equidistant points.
_TIME_POINTS = 50


@dataclass(frozen=True)
class RecordedSpace:
    """A recorded space.

    Args:
        name: of the space.
        table: times in seconds by configuration, None for a failure; at least one has a time.
        default: what a user would run without tuning; None if there is none.
        costs_s: what trying each configuration took in seconds (to build, check and time it);
            empty if that was not recorded.
        about: what was recorded: the kernel, the device, and where it comes from.
    """

    name: str
    table: Mapping[Config, float | None]
    default: Config | None = None
    costs_s: Mapping[Config, float] = field(default_factory=dict)
    about: Mapping[str, object] = field(default_factory=dict)

    @cached_property
    def space(self) -> SearchSpace:
        """The space, without a default."""
        return SearchSpace.from_configs(self.table)

    @cached_property
    def configs(self) -> list[Config]:
        """Every configuration, in the order of the table."""
        return list(self.table)

    @cached_property
    def optimum_s(self) -> float:
        """The shortest time."""
        return min(time_s for time_s in self.table.values() if time_s is not None)

    @cached_property
    def worst_s(self) -> float:
        """The longest time; a search with failures alone has it too."""
        return max(time_s for time_s in self.table.values() if time_s is not None)

    @cached_property
    def mean_cost_s(self) -> float | None:
        """What one random trial takes in seconds; None if it was not recorded."""
        return float(np.mean(list(self.costs_s.values()))) if self.costs_s else None

    def best_so_far(self, tried: Sequence[int | None], trials: int) -> Floats:
        """Shape (trials,), the best time in seconds after each trial of a search.

        Args:
            tried: numbers in `configs`, None for a configuration that is not in the table. A
                search that tried fewer than `trials` stays where it was.
            trials: of the curve.
        """
        known = [self._time_or_worst(number) for number in tried[:trials]]
        curve = np.minimum.accumulate([self.worst_s, *known])
        return np.concatenate([curve[1:], np.full(trials - len(known), curve[-1])])

    def _time_or_worst(self, number: int | None) -> float:
        time_s = None if number is None else self.table[self.configs[number]]
        return self.worst_s if time_s is None else time_s

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

    def performance(self, curves: Sequence[Sequence[float]] | Floats) -> Floats:
        """Shape (searches, trials), the part of the way from random search to the optimum.

        Args:
            curves: for each search the best time in seconds after each trial.
        """
        best = np.asarray(curves)
        return self._part_of_the_way(best, self.random_curve(best.shape[1]))

    def scores(self, curves: Sequence[Sequence[float]] | Floats) -> Floats:
        """Shape (searches, trials), the performance score of each search after so many trials.

        It is the mean over the trials of the part of the way from random search to the optimum: 0
        is random search, 1 the optimum at once (Willemsen et al., "A methodology for comparing
        optimization algorithms for auto-tuning", 2024, with trials in place of seconds).

        Args:
            curves: for each search the best time in seconds after each trial.
        """
        performance = self.performance(curves)
        count = np.arange(1, performance.shape[1] + 1)
        result: Floats = np.cumsum(performance, axis=1) / count
        return result

    def performance_by_time(self, tried: Sequence[int | None], trials: int) -> Floats | None:
        """Shape (50,), the part of the way at equidistant times, until random search ends.

        Random search ends when it has made so many trials at the mean cost. Its curve is the one
        by trials, interpolated. None if costs were not recorded.

        Args:
            tried: as of `best_so_far`.
            trials: of random search.
        """
        if self.mean_cost_s is None:
            return None
        costs_s = [0.0 if n is None else self.costs_s[self.configs[n]] for n in tried]
        ends_s = np.cumsum(costs_s)
        times_s = np.linspace(0, trials * self.mean_cost_s, _TIME_POINTS + 1)[1:]
        finished = np.searchsorted(ends_s, times_s, side="right")
        curve = np.concatenate([[self.worst_s], self.best_so_far(tried, len(tried))])
        random = np.interp(
            times_s / self.mean_cost_s, np.arange(1, trials + 1), self.random_curve(trials)
        )
        return self._part_of_the_way(curve[finished], random)

    def _part_of_the_way(self, best: Floats, random: Floats) -> Floats:
        gap = np.maximum(random - self.optimum_s, 1e-12 * self.optimum_s)
        result: Floats = (random - best) / gap
        return result
