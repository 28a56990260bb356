"""The state of a search when a sampler is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from engine.search.model.candidates import Candidates
from engine.search.model.gaussian_process import MAX_ROWS
from engine.search.model.transfer_model import TransferModel
from engine.study.objectives import Robust, Values
from engine.study.selection import fastest_and_latest

__all__ = ["SearchState"]


@dataclass(frozen=True)
class SearchState:
    """What is known when a sampler is asked; candidates are named by their number.

    Args:
        candidates: the valid configurations.
        free: shape (candidates,), whether each may still be proposed; at least one may.
        taken: those tried or being tried, in the order of proposal.
        times_s: outcome of those that have one: the time in seconds, or None for a failure. A
            candidate that is taken and has none is being tried now.
        rng: the random numbers of this proposal.
        seed: of the whole study.
        transfer: the transfer model of a history, None without one.
        further: the other objectives of those with a time; empty if the time is the only one.
        models_s: where a regret over several models is minimised, the times in seconds of those
            with a time by the models' names.
        robust: which regret that is.
    """

    candidates: Candidates
    free: npt.NDArray[np.bool_]
    taken: Sequence[int]
    times_s: Mapping[int, float | None]
    rng: np.random.Generator
    seed: int = 0
    transfer: TransferModel | None = None
    further: Mapping[int, Values] = field(default_factory=dict)
    models_s: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    robust: Robust = "off"

    @property
    def models(self) -> list[str]:
        """The models that all correct trials have times under; none if some have other ones."""
        timed = [number for number, time_s in self.times_s.items() if time_s is not None]
        names = list(self.models_s.get(timed[0], ())) if timed else []
        same = all(set(self.models_s.get(number, ())) == set(names) for number in timed)
        return names if same else []

    @cached_property
    def settled(self) -> list[int]:
        """The candidates with an outcome, in the order of proposal."""
        if len(self.taken) == len(self.times_s):
            return list(self.taken)
        return [number for number in self.taken if number in self.times_s]

    @cached_property
    def being_tried(self) -> list[int]:
        """The candidates without an outcome yet, in the order of proposal."""
        if len(self.taken) == len(self.times_s):
            return []
        return [number for number in self.taken if number not in self.times_s]

    @cached_property
    def training_set(self) -> list[int]:
        """The candidates that a surrogate is trained on, in the order of proposal."""
        return self.chosen(self.settled, MAX_ROWS)

    def chosen(self, settled: list[int], limit: int) -> list[int]:
        """At most `limit` of some candidates with an outcome, in the order of proposal."""
        places = fastest_and_latest([self.times_s[number] for number in settled], limit)
        return [settled[place] for place in places]

    def outcome(self, number: int) -> Values | None:
        """All objectives of a candidate with an outcome, or None for a failure."""
        time_s = self.times_s[number]
        return None if time_s is None else (time_s, *self.further[number])

    def fastest(self, count: int) -> list[int]:
        """At most `count` candidates with the shortest times, the fastest first."""
        found: list[int] = self._by_time[:count].tolist()
        return found

    @cached_property
    def _by_time(self) -> npt.NDArray[np.int64]:
        """Every candidate with a time, the fastest first."""
        numbers = np.fromiter(self.times_s, np.int64, len(self.times_s))
        times_s = np.array(list(self.times_s.values()), dtype=np.float64)  # NaN for a failure
        timed = np.flatnonzero(~np.isnan(times_s))
        return numbers[timed[np.lexsort((numbers[timed], times_s[timed]))]]
