"""When the surrogate predicts no further improvement."""

from __future__ import annotations

from dataclasses import dataclass

from engine.search import Search

__all__ = ["NO_OUTLOOK", "Convergence", "Outlook", "outlook_of"]

# Converged: after each of so many outcomes in a row, the surrogate expected the next trial to
# improve the best time by less than this part of it.
_GAIN = 1e-3
_IN_A_ROW = 10

# A surrogate of few trials can be confident and wrong. So the best must also have lasted, for so
# many trials and for this part of all.
_LASTING_TRIALS = 30
_LASTING_PART = 0.5


@dataclass(frozen=True)
class Outlook:
    """What a search may still gain.

    Args:
        expected_gain: the relative improvement of the best time that the surrogate expects of the
            next trial; None while there are too few trials.
        has_lasted: whether no trial has improved the best for long.
    """

    expected_gain: float | None
    has_lasted: bool

    @property
    def is_quiet(self) -> bool:
        """Whether little more is expected; a search is quiet for long before it has converged."""
        return self.expected_gain is not None and self.expected_gain < _GAIN and self.has_lasted


NO_OUTLOOK = Outlook(None, has_lasted=False)


def outlook_of(search: Search) -> Outlook:
    """The outlook of a search after its last outcome."""
    return Outlook(search.expected_gain(), _has_lasted(search))


def _has_lasted(search: Search) -> bool:
    best = search.best()
    if best is None:
        return False
    tried = search.tried
    configs = [trial.config for trial in search.trials()]
    since = tried - 1 - configs.index(best[0])
    return since >= max(_LASTING_TRIALS, _LASTING_PART * tried)


class Convergence:
    """Follows one search."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._seen = 0
        self._in_a_row = 0

    def is_reached(self) -> bool:
        """Whether the search has converged.

        Call it after each outcome; without a new one, the answer stays the same.
        """
        tried = self._search.tried
        if tried > self._seen:
            self._seen = tried
            gain = self._search.expected_gain()
            is_small = gain is not None and gain < _GAIN
            self._in_a_row = self._in_a_row + 1 if is_small else 0
        return self._in_a_row >= _IN_A_ROW and _has_lasted(self._search)
