"""A pytest plugin for Triton's own tests: takes a part of them, and writes down how each one ended.

`run.py` loads it into the pytest that runs those tests, and reads what it writes.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from exclusions import excluding, read_exclusions

_SAMPLE, _OUTCOMES = "--upstream-sample", "--upstream-outcomes"
_EMULATED = "--upstream-emulated"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(_SAMPLE, type=int, default=1)
    parser.addoption(_OUTCOMES, type=Path)
    parser.addoption(_EMULATED, type=Path)


def pytest_configure(config: pytest.Config) -> None:
    # Workers report to the process that started them, which alone writes.
    if config.getoption(_OUTCOMES) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(OutcomeWriter(config.getoption(_OUTCOMES)))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take every n-th test: those whose name has such a checksum, the same ones in every run.

    With a list of exclusions, skip those that it has for emulation only.
    """
    sample, file = config.getoption(_SAMPLE), config.getoption(_EMULATED)
    items[:] = [item for item in items if zlib.crc32(item.nodeid.encode()) % sample == 0]
    exclusions = read_exclusions(file, "emulated") if file else ()
    slow = tuple(exclusion for exclusion in exclusions if exclusion.emulation_only)
    for item in items:
        if exclusion := excluding(item.nodeid, slow):
            item.add_marker(pytest.mark.skip(exclusion.reason))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Iterator[None]:
    """Leave no test another one's TRITON_DEBUG, for which Triton's own have a process each."""
    try:
        return (yield)
    finally:
        if "triton.knobs" in sys.modules:
            sys.modules["triton.knobs"].refresh_knobs()


class OutcomeWriter:
    """Writes a line of JSON for each test: its name, how it ended, why, and how long it took.

    A test that took its worker down with it counts as failed.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome == "passed" and report.when != "call":
            return
        outcome = {
            "test": report.nodeid,
            "outcome": report.outcome,
            "reason": _reason(report),
            "seconds": round(report.duration, 3),
        }
        with self._file.open("a") as lines:
            lines.write(json.dumps(outcome) + "\n")


def _reason(report: pytest.TestReport) -> str:
    if hasattr(report, "wasxfail"):
        return f"expected to fail: {report.wasxfail}"
    if isinstance(report.longrepr, tuple):  # file, line and reason of a skipped test
        return report.longrepr[2].removeprefix("Skipped: ")
    crash = getattr(report.longrepr, "reprcrash", None)
    return crash.message if crash else str(report.longrepr or "")
