"""What one proposal is made from."""

from __future__ import annotations

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
    """What is known when a sampler is asked; candidates go by their number.

    Args:
        candidates: the valid configurations.
        free: for each candidate whether it may still be proposed; at least one may.
        taken: those that are being tried or have been, in the order of asking.
        times_s: outcome of those that have one: the time in seconds, or None for a failure. What
            is taken and not here is being tried now.
        rng: the source of chance of this proposal.
        seed: of the whole study.
        transfer: what a history leads to expect, None without one.
        further: the objectives besides the time of those that have one; empty for the time alone.
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
        """All objectives of a candidate that has an outcome, or None for a failure."""
        time_s = self.times_s[number]
        return None if time_s is None else (time_s, *self.further[number])

    def fastest(self, count: int) -> list[int]:
        """The candidates with the shortest times, the fastest first; `count` at most."""
        timed = [(seconds, n) for n, seconds in self.times_s.items() if seconds is not None]
        return [number for _, number in sorted(timed)[:count]]
