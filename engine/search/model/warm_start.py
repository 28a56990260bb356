"""What was quick elsewhere, tried early for as long as it keeps ahead."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping

from engine.search.model.candidates import Candidates
from foundation.config import ParameterValue

__all__ = ["History", "WarmStart"]

# Configurations with times in seconds that can be compared with each other; None for a failure.
History = Iterable[tuple[Mapping[str, ParameterValue], float | None]]

_MOST = 5


class WarmStart:
    """The candidates that correspond to the fastest of a history.

    The default is none of them: it comes first anyway, and is what they are compared with.

    Args:
        candidates: of the space.
        history: what was measured elsewhere.
        has_model: whether a model learns from the history too. Then only its fastest is tried for
            its own sake, at once, and the model knows what to make of the rest.
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
        """The suggestion to try now, or None where the sampler is to propose.

        Without a model the first comes second, after the default or a proposal of the sampler's,
        and the others follow for as long as a suggestion leads: a history that misleads costs one
        trial, which is not the first.

        Args:
            taken: candidates that are being tried or have been.
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
    """The shortest time of these in seconds; infinite where none has one."""
    known = (times_s.get(number) for number in numbers)
    return min((time_s for time_s in known if time_s is not None), default=math.inf)
