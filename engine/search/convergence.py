"""When a search has found what there is to find, as far as can be told."""

from __future__ import annotations

from engine.search import Search

__all__ = ["Convergence"]

# The next trial is expected to gain less than this part of the best time, after so many outcomes in
# a row: a model that has just learnt something new may change its mind.
_GAIN = 1e-3
_IN_A_ROW = 10

# A model of few trials can be sure and wrong. So the best has to have lasted as well, for so many
# trials and for this part of all.
_LASTING_TRIALS = 30
_LASTING_PART = 0.5


class Convergence:
    """Follows one search."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._seen = 0
        self._in_a_row = 0

    def is_reached(self) -> bool:
        """Whether so little is to be gained that it does not pay to go on.

        It is to be asked after each outcome; asked again without a new one, it says the same.
        """
        tried = self._search.tried
        if tried > self._seen:
            self._seen = tried
            gain = self._search.expected_gain()
            is_small = gain is not None and gain < _GAIN
            self._in_a_row = self._in_a_row + 1 if is_small else 0
        return self._in_a_row >= _IN_A_ROW and self._has_lasted(tried)

    def _has_lasted(self, tried: int) -> bool:
        """Whether nothing better has been found for long."""
        best = self._search.best()
        if best is None:
            return False
        configs = [trial.config for trial in self._search.trials()]
        since = tried - 1 - configs.index(best[0])
        return since >= max(_LASTING_TRIALS, _LASTING_PART * tried)
