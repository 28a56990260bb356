"""Tuners of two machines in one storage: what a dead one leaves is taken back by its heartbeat."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from search_helpers import search_in

# A process of another machine, as far as its names tell; its clocks go on by what it reads.
ELSEWHERE = """
import socket, sys, time
socket.gethostname = lambda: "elsewhere"
import engine.study.owner
engine.study.owner._boot_id = lambda: "another boot"
from search_helpers import search_in
now_s, ticks_s, ahead_s = time.time, time.monotonic, 0.0
time.time = lambda: now_s() + ahead_s
time.monotonic = lambda: ticks_s() + ahead_s
search = search_in(sys.argv[1])
print(search.ask(), flush=True)
for line in sys.stdin:
    ahead_s = float(line)
    search.keep_alive()
    print(ahead_s, flush=True)
"""


class Elsewhere:
    """The tuner of another machine.

    Attributes:
        asked: the configuration that it measures.
    """

    def __init__(self, storage: str) -> None:
        paths = [str(Path(__file__).parent), *sys.path]
        self._process = subprocess.Popen(
            [sys.executable, "-c", ELSEWHERE, storage],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.asked = self._process.stdout.readline().strip()

    def lives_until(self, ahead_s: float) -> None:
        """Let its clocks go on to so many seconds from now, and its heart beat if it is time."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(ahead_s, file=self._process.stdin, flush=True)
        assert float(self._process.stdout.readline()) == ahead_s

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def elsewhere(storage: str) -> Iterator[Elsewhere]:
    process = Elsewhere(storage)
    yield process
    process.kill()


@contextmanager
def clocks_ahead(monkeypatch: pytest.MonkeyPatch, ahead_s: float) -> Iterator[None]:
    clocks: dict[str, Callable[[], float]] = {"time": time.time, "monotonic": time.monotonic}
    with monkeypatch.context() as changed:
        for name, clock in clocks.items():
            changed.setattr(time, name, lambda clock=clock: clock() + ahead_s)
        yield


@pytest.mark.parametrize(
    "storage", ["journal", pytest.param("sqlite", marks=pytest.mark.long)], indirect=True
)
def test_it_is_taken_back_five_minutes_after_the_last_beat(
    storage: str, elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = search_in(storage)
    assert elsewhere.asked == str(search.space.default)

    def is_free(ahead_s: float) -> bool:
        with clocks_ahead(monkeypatch, ahead_s):
            search.keep_alive()
            return search.take(search.space.default)

    assert not is_free(200)
    elsewhere.lives_until(290)
    assert not is_free(400)  # it would be silent for too long, but for its second beat
    elsewhere.kill()
    assert not is_free(500)
    assert is_free(600)
