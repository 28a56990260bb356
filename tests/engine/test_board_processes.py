"""Boards in worker processes: faults, deaths, and how they end."""

from __future__ import annotations

import functools
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fakes import FakeBoard, artifact, wait_until_ended

from engine.workers.board_pool import BoardPool
from engine.workers.board_seat import BoardSeat, BoardSource
from engine.workers.worker_pool import PoolClosed
from foundation.errors import UserError
from rvv_runner.board import BoardError
from rvv_runner.measurement import Measurement

pytestmark = pytest.mark.usefixtures("ray_for_tests")


def test_a_board_at_fault_is_opened_again_before_it_measures_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    pool = BoardPool([BoardSource("fake", functools.partial(FakeBoard, log))])
    try:
        pool.wait_open()
        assert pool.measure(artifact(time_ms=3, run="fault-once"), 1, 10).status == "correct"
    finally:
        pool.close()
    lines = log.read_text().splitlines()
    opened = [line for line in lines if line.startswith("open")]
    assert len(opened) == 2
    assert lines[-1] == "close"


@pytest.mark.parametrize("how", ["board", "die"])
def test_a_board_that_stays_at_fault_is_never_scored(how: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    pool = BoardPool([BoardSource("fake", functools.partial(FakeBoard, log))])
    try:
        measurement = pool.measure(artifact(time_ms=3, run=how), 1, 10)
    finally:
        pool.close()
    assert measurement.status == "board"
    assert measurement.time_s is None
    assert "3 attempts" in measurement.reason
    assert log.read_text().count("measure ") == 3


@pytest.mark.long
def test_a_worker_killed_while_it_starts_is_started_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    pool = BoardPool([BoardSource("fake", functools.partial(FakeBoard, log, deaths=2))])
    try:
        pool.wait_open()
        assert pool.measure(artifact(time_ms=3), 1, 10).status == "correct"
    finally:
        pool.close()
    assert log.read_text().count("open ") == 3


def test_a_worker_that_never_starts_is_one_sentence(tmp_path: Path) -> None:
    pool = BoardPool(
        [BoardSource("fake", functools.partial(FakeBoard, tmp_path / "log", deaths=9))]
    )
    try:
        with pytest.raises(
            UserError, match=r"died 3 times while it started .*: end other programs$"
        ):
            pool.measure(artifact(time_ms=3), 1, 10)
    finally:
        pool.close()


def test_a_full_disk_is_named_where_no_worker_starts(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/proc")  # which has room for nothing
    pool = BoardPool(
        [BoardSource("fake", functools.partial(FakeBoard, tmp_path / "log", deaths=9))]
    )
    try:
        with pytest.raises(UserError, match=r"the disk of /proc is full: free some space"):
            pool.measure(artifact(time_ms=3), 1, 10)
    finally:
        pool.close()


def test_a_board_that_cannot_be_opened_says_why() -> None:
    pool = BoardPool([BoardSource("fake", functools.partial(FakeBoard, opens=False))])
    try:
        with pytest.raises(BoardError, match=r"^the fake board is out of order: mend it$"):
            pool.wait_open()
    finally:
        pool.close()


@pytest.mark.parametrize(
    ("bug", "error", "sentence"),
    [
        (OSError(28, "No space left on device"), BoardError, "cannot work on this machine: .*left"),
        (KeyError("head"), KeyError, "head"),
    ],
)
def test_whatever_opening_a_board_raises_is_told(
    bug: Exception, error: type[Exception], sentence: str
) -> None:
    pool = BoardPool([BoardSource("fake", functools.partial(FakeBoard, bug=bug))])
    try:
        with pytest.raises(error, match=sentence):
            pool.wait_open()
    finally:
        pool.close()


def test_whatever_measuring_raises_is_the_boards() -> None:
    pool = BoardPool([BoardSource("fake", FakeBoard)])
    try:
        measurement = pool.measure(artifact(time_ms=3, run="bug"), 1, 10)
    finally:
        pool.close()
    assert measurement.status == "board"
    assert "the board's process failed: KeyError: 'head'" in measurement.reason


def test_closing_leaves_no_process_of_a_board_behind(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    pool = BoardPool([BoardSource("fake", functools.partial(FakeBoard, log))])
    with ThreadPoolExecutor(1) as threads:
        job = artifact(time_ms=1, run="start-a-process")
        running = threads.submit(pool.measure, job, 1, 900)
        while "started" not in log.read_text():
            time.sleep(0.05)
        pool.close()
        with pytest.raises(PoolClosed):
            running.result(timeout=200)
    wait_until_ended(int(log.read_text().split("started ")[1].split()[0]))


@pytest.mark.parametrize("several", [False, True])
def test_what_closing_ended_is_no_outcome(several: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(*_arguments: object) -> Measurement:
        pool.close()
        return Measurement(status="runtime", reason="it was ended by SIGKILL")

    pool = BoardPool([BoardSource("fake", FakeBoard)])
    pool.wait_open()
    monkeypatch.setattr(BoardSeat, "measure", ended)
    job = artifact(time_ms=1)
    one = functools.partial(pool.measure, job)
    in_turn = functools.partial(pool.measure_in_turn, [job])
    with pytest.raises(PoolClosed):
        (in_turn if several else one)(1, 10)


def test_a_board_that_takes_for_ever_to_close_is_ended(tmp_path: Path) -> None:
    log = tmp_path / "log"
    pool = BoardPool([BoardSource("fake", functools.partial(FakeBoard, log, closing_s=600))])
    pool.wait_open()
    pool.close()
    wait_until_ended(int(log.read_text().split("open ")[1].split()[0]))
    assert log.read_text().splitlines()[-1] == "close"


def test_closing_ends_what_is_under_way() -> None:
    pool = BoardPool([BoardSource("fake", functools.partial(FakeBoard, delay_s=600))])
    pool.wait_open()
    with ThreadPoolExecutor(2) as threads:
        running = [threads.submit(pool.measure, artifact(time_ms=1), 1, 900) for _ in range(2)]
        pool.close()
        for future in running:
            with pytest.raises(PoolClosed):
                future.result(timeout=200)
