"""When the surrogate predicts no further improvement."""

from __future__ import annotations

from engine.search import Search

__all__ = ["Convergence"]

# Converged: after each of so many outcomes in a row, the surrogate expected the next trial to
# improve the best time by less than this part of it.
_GAIN = 1e-3
_IN_A_ROW = 10

# A surrogate of few trials can be confident and wrong. So the best must also have lasted, for so
# many trials and for this part of all.
_LASTING_TRIALS = 30
_LASTING_PART = 0.5


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
        return self._in_a_row >= _IN_A_ROW and self._has_lasted(tried)

    def _has_lasted(self, tried: int) -> bool:
        """Whether no trial has improved the best for long."""
        best = self._search.best()
        if best is None:
            return False
        configs = [trial.config for trial in self._search.trials()]
        since = tried - 1 - configs.index(best[0])
        return since >= max(_LASTING_TRIALS, _LASTING_PART * tried)
