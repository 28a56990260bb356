"""What idle boards wait for."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

__all__ = ["Cause", "Waiting"]

# "other trials": deterministic boards' outcomes are told in the order of asking, so a proposal may
# wait for a slower one on another board; at the end of a run there is nothing left to propose.
Cause = Literal["builders", "proposals", "store", "other tuners", "other trials"]


class Waiting:
    """Adds up the time that boards of a pool were without work, by what they waited for.

    While a configuration is being built, that is what a board waits for, whatever else goes on.
    Every method may be called from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds: defaultdict[Cause, float] = defaultdict(float)
        self._since_s: float | None = None
        self._idle = 0
        self._builds = 0
        self._doing: Cause = "other trials"

    def begin(self) -> None:
        """Count from now on."""
        with self._lock:
            self._since_s = time.monotonic()

    def end(self) -> Mapping[Cause, float]:
        """Stop counting; board-seconds by cause."""
        with self._lock:
            self._charge()
            self._since_s = None
            return dict(self._seconds)

    def boards_idle(self, change: int) -> None:
        """So many more boards are without work, or fewer."""
        with self._lock:
            self._charge()
            self._idle += change

    def add(self, cause: Cause, seconds: float) -> None:
        """A board itself has waited."""
        with self._lock:
            if self._since_s is not None and seconds > 0:
                self._seconds[cause] += seconds

    @contextmanager
    def building(self) -> Iterator[None]:
        """A configuration is built in the block, or waits for a builder."""
        self._change_builds(1)
        try:
            yield
        finally:
            self._change_builds(-1)

    @contextmanager
    def doing(self, cause: Cause) -> Iterator[None]:
        """The loop is at work on this in the block."""
        self._set_doing(cause)
        try:
            yield
        finally:
            self._set_doing("other trials")

    def _change_builds(self, change: int) -> None:
        with self._lock:
            self._charge()
            self._builds += change

    def _set_doing(self, cause: Cause) -> None:
        with self._lock:
            self._charge()
            self._doing = cause

    def _charge(self) -> None:
        if self._since_s is None:
            return
        now_s = time.monotonic()
        idle_s = (now_s - self._since_s) * self._idle
        if idle_s > 0:
            self._seconds["builders" if self._builds else self._doing] += idle_s
        self._since_s = now_s
