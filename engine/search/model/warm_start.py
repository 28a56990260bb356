"""Warm start: the fastest configurations of a history are tried early while they lead."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping

from engine.search.model.candidates import Candidates
from foundation.config import ParameterValue

__all__ = ["History", "WarmStart"]

# Configurations with comparable times in seconds; None for a failure.
History = Iterable[tuple[Mapping[str, ParameterValue], float | None]]

_MOST = 5


class WarmStart:
    """The candidates that correspond to the fastest configurations of a history.

    The default is left out: it is always tried first.

    Args:
        candidates: of the space.
        history: the measurements of another study.
        has_model: whether a transfer model learns from the history too. Then only the fastest is
            tried outright; the model judges the rest.
    """

    def __init__(self, candidates: Candidates, history: History, *, has_model: bool) -> None:
        self._has_model = has_model
        default = candidates.space.default
        timed = [(config, time_s) for config, time_s in history if time_s is not None]
        timed.sort(key=lambda pair: pair[1])
        found: dict[int, None] = {}
        for config, _ in timed:
            number = candidates.counterpart(config)
            if number is not None and candidates.config(number) != default:
                found[number] = None
            if len(found) == (1 if has_model else _MOST):
                break
        self._numbers = list(found)

    def next(self, taken: Collection[int], times_s: Mapping[int, float | None]) -> int | None:
        """The candidate to try now, or None if the sampler should propose.

        Without a transfer model the first one is tried second, after the default or a proposal of
        the sampler. The others follow while one of them leads, so a misleading history costs one
        trial.

        Args:
            taken: candidates tried or being tried.
            times_s: outcomes, None for a failure.
        """
        left = [number for number in self._numbers if number not in taken]
        if not left:
            return None
        if self._has_model:
            return left[0]
        tried = [number for number in self._numbers if number in taken]
        others = [number for number in taken if number not in self._numbers]
        if not others:
            return None
        leads = not tried or _best(tried, times_s) < _best(others, times_s)
        return left[0] if leads else None


def _best(numbers: Iterable[int], times_s: Mapping[int, float | None]) -> float:
    """The shortest time of these in seconds; infinite if none has one."""
    known = (times_s.get(number) for number in numbers)
    return min((time_s for time_s in known if time_s is not None), default=math.inf)
