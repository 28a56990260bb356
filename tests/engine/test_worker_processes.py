"""Processes of closed pools have the workers of the next one."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import pytest
from fakes import FakeBoard

from engine.workers.artifacts import BuildFailure
from engine.workers.board_pool import BoardPool
from engine.workers.board_seat import BoardSource
from engine.workers.builders import BuilderPool
from foundation.config import Config

pytestmark = pytest.mark.usefixtures("ray_for_tests")


class TellingBuilder:
    """Fails with the number of its process and its priority."""

    def build(self, _: Config) -> BuildFailure:
        return BuildFailure(f"{os.getpid()} {os.nice(0)}")


def test_a_process_serves_the_next_pool_unless_a_users_file_was_in_it(tmp_path: Path) -> None:
    (tmp_path / "own.py").touch()
    pids = []
    for files in ([], [], [tmp_path / "own.py"], []):
        pool = BuilderPool(TellingBuilder, jobs=1, kernel_files=files)
        told = pool.build(Config({}))
        pool.close()
        assert isinstance(told, BuildFailure)
        pids.append(told.reason)
    assert pids[0] == pids[1]
    assert len({*pids}) == 3


def test_a_boards_process_serves_the_next_board_where_it_is_left_as_it_was(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for _ in range(2):
        pool = BoardPool([BoardSource("fake", functools.partial(FakeBoard, log))])
        pool.wait_open()
        pool.close()
    first, closed, again, *_ = log.read_text().splitlines()
    assert first.startswith("open ")
    assert (closed, again) == ("close", first)
