"""What was quick elsewhere, tried early for as long as it keeps ahead."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from engine.candidates import Candidates
from search_spaces.config import ParameterValue

__all__ = ["History", "next_suggestion", "suggestions"]

# Configurations with times in seconds that can be compared with each other; None for a failure.
History = Iterable[tuple[Mapping[str, ParameterValue], float | None]]

_SUGGESTIONS = 5


def suggestions(candidates: Candidates, history: History) -> list[int]:
    """The candidates that correspond to the quickest of the history, the quickest first.

    The default is none of them: it comes first anyway, and is what they are compared with.
    """
    default = candidates.space.default
    timed = [(config, time_s) for config, time_s in history if time_s is not None]
    timed.sort(key=lambda pair: pair[1])
    found: dict[int, None] = {}
    for config, _ in timed:
        number = candidates.counterpart(config)
        if number is not None and candidates.config(number) != default:
            found[number] = None
        if len(found) == _SUGGESTIONS:
            break
    return list(found)


def next_suggestion(
    suggested: Sequence[int], taken: Collection[int], times_s: Mapping[int, float | None]
) -> int | None:
    """The suggestion to try now, or None where the sampler is to propose.

    The first comes second, after the default or a proposal of the sampler's; the others follow for
    as long as a suggestion leads. So a history that misleads costs one trial, which is not the
    first.

    Args:
        suggested: candidates, the most promising first.
        taken: those that are being tried or have been.
        times_s: outcomes, None for a failure.
    """
    left = [number for number in suggested if number not in taken]
    if not left:
        return None
    tried = [number for number in suggested if number in taken]
    others = [number for number in taken if number not in suggested]
    if not others:
        return None
    if not tried:
        return left[0]
    return left[0] if _best(tried, times_s) < _best(others, times_s) else None


def _best(numbers: Iterable[int], times_s: Mapping[int, float | None]) -> float:
    """The shortest time of these in seconds; infinite where none has one."""
    known = (times_s.get(number) for number in numbers)
    return min((time_s for time_s in known if time_s is not None), default=math.inf)
