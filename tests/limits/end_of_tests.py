"""Ends a process of tests whose test goes on after its limit.

pytest-timeout ends a test by a signal to Python. One in native code that lets no signal handler run
would go on for ever. Here a thread without Python ends its process, after it has printed where each
thread is. pytest-xdist then names the test as failed, and goes on with the others.

No limit is on all tests together, since that would fail on a slow machine.
"""

from __future__ import annotations

import faulthandler
import os
from collections.abc import Iterator

import pytest

# What pytest-timeout gets to end the test, and its fixtures to clean up.
GRACE_S = 60.0
# Imports for the tests' files, and what the session's fixtures clean up.
OUTSIDE_S = 900.0


class EndOfTests:
    """Watches this process from its start to its end, but not while it waits for a test."""

    def __init__(self, config: pytest.Config) -> None:
        self._default_s = float(
            config.getoption("timeout") or config.getini("timeout") or OUTSIDE_S
        )
        self._stderr = os.dup(2)  # before tests capture it
        config.add_cleanup(faulthandler.cancel_dump_traceback_later)

    def _end_after(self, seconds: float) -> None:
        faulthandler.dump_traceback_later(seconds, exit=True, file=self._stderr)

    def pytest_collection(self) -> None:
        self._end_after(OUTSIDE_S)

    def pytest_collection_finish(self) -> None:
        faulthandler.cancel_dump_traceback_later()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        mark = item.get_closest_marker("timeout")
        limit_s = float(mark.args[0]) if mark else self._default_s
        self._end_after(limit_s + GRACE_S)
        try:
            return (yield)
        finally:
            faulthandler.cancel_dump_traceback_later()

    def pytest_sessionfinish(self) -> None:
        self._end_after(OUTSIDE_S)
