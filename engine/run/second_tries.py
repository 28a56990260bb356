"""Configurations that a builder or a board could not finish: each is tried a second time."""

from __future__ import annotations

from collections import deque

from foundation.config import Config
from rvv_runner.board import BoardError

__all__ = ["SecondTries"]

_FAULTS_IN_A_ROW = 3  # configurations that could not be built or measured here, before giving up


class SecondTries:
    """What is to be tried again, and what was tried twice and is left to the next run."""

    def __init__(self) -> None:
        self._waiting: deque[Config] = deque()
        self._begun: set[Config] = set()
        self._twice: list[Config] = []
        self._in_a_row = 0

    def fault(self, config: Config) -> None:
        """A builder or a board could not finish it."""
        if config in self._begun:
            self._twice.append(config)
        else:
            self._waiting.append(config)
            self._begun.add(config)
            self._in_a_row += 1

    def got_through(self) -> None:
        """A configuration was built and measured."""
        self._in_a_row = 0

    def give_up(self, config: Config) -> None:
        """The run ends before it has an outcome."""
        self._twice.append(config)

    def next(self, *, at_once: bool) -> Config | None:
        """What to try again, if anything.

        Args:
            at_once: whether to give something only if another configuration got through since.
        """
        if not self._waiting or (at_once and self._in_a_row):
            return None
        return self._waiting.popleft()

    def check(self, reason: str) -> None:
        """Give up if too many in a row failed.

        Args:
            reason: why the last of them did.

        Raises:
            BoardError: if so.
        """
        if self._in_a_row >= _FAULTS_IN_A_ROW:
            raise BoardError(
                f"{_FAULTS_IN_A_ROW} configurations in a row could not be built or measured; "
                f"of the last: {reason}"
            )

    def left(self) -> list[Config]:
        """What has no outcome at the end of the run."""
        return [*self._waiting, *self._twice]
