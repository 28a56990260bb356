"""The state of a search when a sampler is asked."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from engine.search.model.candidates import Candidates
from engine.search.model.transfer_model import TransferModel
from engine.study.objectives import Values

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
    """

    candidates: Candidates
    free: npt.NDArray[np.bool_]
    taken: Sequence[int]
    times_s: Mapping[int, float | None]
    rng: np.random.Generator
    seed: int = 0
    transfer: TransferModel | None = None
    further: Mapping[int, Values] = field(default_factory=dict)

    def outcome(self, number: int) -> Values | None:
        """All objectives of a candidate with an outcome, or None for a failure."""
        time_s = self.times_s[number]
        return None if time_s is None else (time_s, *self.further[number])

    def fastest(self, count: int) -> list[int]:
        """At most `count` candidates with the shortest times, the fastest first."""
        timed = [(seconds, n) for n, seconds in self.times_s.items() if seconds is not None]
        return [number for _, number in heapq.nsmallest(count, timed)]
