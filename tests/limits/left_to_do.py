"""Says at intervals how many tests are done, and about how long the others take."""

from __future__ import annotations

import time
from typing import Any

import pytest

INTERVAL_S = 30.0


def left(done: int, tests: int, elapsed_s: float) -> str:
    """Such as "43% of 3,100 tests, about 4 min left"; each test takes as long as those so far.

    The first few say nothing of the others.
    """
    said = f"{100 * done // tests}% of {tests:,} tests"
    if done < tests / 20:
        return said
    left_s = elapsed_s / done * (tests - done)
    time_left = f"{left_s / 60:.0f} min" if left_s >= 90 else f"{left_s:.0f} s"
    return f"{said}, about {time_left} left"


class LeftToDo:
    """Counts tests in the process that hears of all of them, and prints a line now and then."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._tests = self._done = 0

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._begin(len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self._begin(len(ids))

    def _begin(self, tests: int) -> None:
        self._tests = tests
        self._began_s = self._said_s = time.monotonic()

    def pytest_runtest_logfinish(self) -> None:
        self._done += 1
        now_s = time.monotonic()
        if now_s - self._said_s < INTERVAL_S or self._done >= self._tests:
            return
        self._said_s = now_s
        reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        # Behind the dots of the tests so far.
        reporter.write_line("\n" + left(self._done, self._tests, now_s - self._began_s))
