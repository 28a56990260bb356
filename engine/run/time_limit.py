"""The time limit of a measurement, which the default configuration sets."""

from __future__ import annotations

import threading

__all__ = ["DEFAULT_LIMIT_S", "TimeLimit"]

# Time limit of the default configuration. Any other may take ten times as long as the default took,
# board time and checks included: a slower one cannot win.
DEFAULT_LIMIT_S = 600.0
_SLOWER_THAN_DEFAULT = 10.0
_LEAST_LIMIT_S = 20.0
_LIMIT_WITHOUT_DEFAULT_S = 120.0


class TimeLimit:
    """Time limit of a candidate in seconds, known once the default configuration is measured."""

    def __init__(self) -> None:
        self._limit_s = _LIMIT_WITHOUT_DEFAULT_S
        self._known = threading.Event()
        self._known.set()

    def expect(self) -> None:
        """The default is about to be measured: `wait` blocks until it is."""
        self._known.clear()

    def learn(self, wall_s: float | None) -> None:
        """The default was measured in `wall_s` seconds, or could not be."""
        if wall_s is not None:
            self._limit_s = max(_LEAST_LIMIT_S, _SLOWER_THAN_DEFAULT * wall_s)
        self._known.set()

    def wait(self) -> float:
        """The limit in seconds, as soon as it is known."""
        self._known.wait()
        return self._limit_s
