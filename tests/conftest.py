"""Names the tests that are running where a time limit ends the run.

pytest-timeout ends each test at its own limit, and starts no test after `--session-timeout`. What
was running then is said here. It is also noted in files, which `tests/within.sh` reads where a test
cannot be ended from within.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs a GPU where there is none."""
    if item.get_closest_marker("gpu") is None:
        return
    import torch

    if not torch.cuda.is_available():
        pytest.skip("needs a GPU that torch can use: run `make gpu` on a machine with one")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(RunningTests(config), "running-tests")


class RunningTests:
    """Keeps a file with the test that this process runs, and reads everybody's at the limit."""

    def __init__(self, config: pytest.Config) -> None:
        self._worker = getattr(config, "workerinput", {}).get("workerid", "")
        self._folder: Path = config.rootpath / ".pytest_cache" / "running"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._limit_s = config.getoption("session_timeout")
        self._sentence = ""
        if self._worker:
            return
        for left_behind in self._folder.iterdir():
            left_behind.unlink()
        if self._limit_s:
            self._stderr = os.dup(2)  # while nothing captures it
            timer = threading.Timer(self._limit_s, self._say)
            timer.daemon = True
            timer.start()
            config.add_cleanup(timer.cancel)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        file = self._folder / (self._worker or "here")
        file.write_text(f"{item.nodeid} on {self._worker}" if self._worker else item.nodeid)
        try:
            return (yield)
        finally:
            file.unlink(missing_ok=True)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._sentence:
            terminalreporter.write_line(self._sentence, red=True)

    def _say(self) -> None:
        running = []
        for file in sorted(self._folder.iterdir()):
            with contextlib.suppress(FileNotFoundError):  # it has just ended
                running.append(file.read_text())
        self._sentence = (
            f"the tests did not end within {self._limit_s:g} s; running then: "
            f"{', '.join(running) or 'none'}"
        )
        os.write(self._stderr, f"\n{self._sentence}\n".encode())
