"""A pool of boards: one at fault is taken out, its job goes to another, it comes back when well."""

from __future__ import annotations

import functools
import io
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from fakes import FakeBoard, artifact

from engine.results.progress import LineProgress, LiveProgress
from engine.run.events import Event
from engine.workers import ray_nodes
from engine.workers.board_events import (
    BoardBack,
    BoardEvent,
    BoardNote,
    BoardSilent,
    BoardTakenOut,
)
from engine.workers.board_pool import BoardPool
from engine.workers.board_seat import BoardSeat, BoardSource
from engine.workers.ray_nodes import ClusterLost
from foundation.errors import FileMistake
from rvv_runner.board import BoardError
from rvv_runner.board_queue import BoardQueue, Turn
from rvv_runner.measurement import Measurement

pytestmark = pytest.mark.usefixtures("ray_for_tests")

OUT_OF_ORDER = "the fake board is out of order: mend it"


@contextmanager
def pool_of(patience_s: float = 60.0, **boards: FakeBoard) -> Iterator[BoardPool]:
    sources = [
        BoardSource(name, functools.partial(FakeBoard, **vars(board)))
        for name, board in boards.items()
    ]
    pool = BoardPool(sources, patience_s)
    try:
        yield pool
    finally:
        pool.close()


def wait_for(pool: BoardPool, wanted: Callable[[BoardEvent], bool]) -> list[BoardEvent]:
    """The pool's events up to the wanted one."""
    events: list[BoardEvent] = []
    deadline_s = time.monotonic() + 200
    while not any(map(wanted, events)):
        assert time.monotonic() < deadline_s, events
        events += pool.take_events()
        time.sleep(0.02)
    return events


def test_a_faulty_boards_job_goes_to_another_and_it_comes_back_when_well(tmp_path: Path) -> None:
    switch = tmp_path / "gone"
    log = tmp_path / "log"
    with pool_of(a=FakeBoard(log, gone=switch), b=FakeBoard()) as pool:
        pool.wait_open()
        while not all(record.measured for record in pool.records()):
            assert pool.measure(artifact(time_ms=5), 1, 10).status == "correct"
        before_of_a, before_of_b = (record.measured for record in pool.records())
        switch.touch()
        measured = [pool.measure(artifact(time_ms=n), 1, 10) for n in (1, 2, 4)]
        assert [measurement.status for measurement in measured] == ["correct"] * 3
        [taken_out] = [event for event in pool.take_events() if isinstance(event, BoardTakenOut)]
        assert taken_out == BoardTakenOut("a", "the fake board says board")
        time.sleep(1.0)
        assert not any(isinstance(event, BoardBack) for event in pool.take_events())
        switch.unlink()
        before = log.read_text().count("measure ")
        wait_for(pool, lambda event: event == BoardBack("a"))
        assert log.read_text().count("measure ") == before + 1  # its check measures
        of_a, of_b = pool.records()
    assert (of_a.board, of_a.measured, of_a.faults) == ("a", before_of_a, 1)
    assert (of_b.board, of_b.measured, of_b.faults) == ("b", before_of_b + 3, 0)


def test_a_board_without_room_for_a_job_stays_out_until_it_has_some(tmp_path: Path) -> None:
    full = tmp_path / "full"
    with pool_of(a=FakeBoard(full=full)) as pool, ThreadPoolExecutor(1) as lane:
        pool.wait_open()
        full.touch()
        measured = lane.submit(pool.measure, artifact(time_ms=3), 1, 10)
        wait_for(pool, lambda event: isinstance(event, BoardTakenOut))
        time.sleep(1.0)
        assert not any(isinstance(event, BoardBack) for event in pool.take_events())
        full.unlink()
        assert measured.result(timeout=100).status == "correct"
        assert list(pool.take_events()) == [BoardBack("a")]


def test_a_mistake_of_the_users_file_takes_no_board_out() -> None:
    with pool_of(a=FakeBoard()) as pool:
        pool.wait_open()
        mistaken = replace(artifact(time_ms=3), provenance={"time_ms": 3, "run": "mistake"})
        for measure in (
            lambda: pool.measure(mistaken, 1, 10),
            lambda: pool.measure_in_turn([mistaken], 1, 10),
        ):
            with pytest.raises(FileMistake, match="fails in reference"):
                measure()
        assert pool.measure(artifact(time_ms=3), 1, 10).status == "correct"
        assert list(pool.take_events()) == []


def test_a_board_that_cannot_be_opened_is_left_out_with_its_reason() -> None:
    with pool_of(a=FakeBoard(opens=False), b=FakeBoard(notes=("it has no perf",))) as pool:
        pool.wait_open()
        assert pool.measure(artifact(time_ms=3), 1, 10).status == "correct"
        events = wait_for(pool, lambda event: isinstance(event, BoardTakenOut))
    assert sorted(map(str, events)) == sorted(
        map(str, [BoardTakenOut("a", OUT_OF_ORDER), BoardNote("b", "it has no perf")])
    )


def test_a_run_without_any_board_ends_with_every_reason(tmp_path: Path) -> None:
    switch = tmp_path / "gone"
    with pool_of(0.5, a=FakeBoard(gone=switch), b=FakeBoard(opens=False)) as pool:
        pool.wait_open()
        switch.touch()
        with pytest.raises(BoardError, match=f"^no board is left: a: .*; b: {OUT_OF_ORDER}$"):
            pool.measure(artifact(time_ms=3), 1, 10)


def test_a_board_that_does_not_answer_is_told_of_while_it_is_waited_for() -> None:
    said: list[str] = []
    with pool_of(a=FakeBoard(silent_s=0.5)) as pool:
        pool.wait_open(said.append)
        assert said == ["the board a: it does not answer", "the board a: it answers again"]
        found: list[Measurement] = []
        job = artifact(time_ms=3)
        measuring = threading.Thread(target=lambda: found.append(pool.measure(job, 1, 10)))
        measuring.start()
        events = wait_for(pool, lambda event: isinstance(event, BoardSilent))
        assert events == [BoardSilent("a", "it does not answer")]
        assert not found
        measuring.join()
        assert found[0].status == "correct"
        assert list(pool.take_events()) == [BoardSilent("a", "it answers again")]


def test_whom_a_board_is_shared_with_is_told_once() -> None:
    found = BoardQueue(("ann@lab", 2.5), (("bob@pc", 0.5),))
    with pool_of(a=FakeBoard(conditions=Turn(1.0, found).conditions)) as pool:
        pool.wait_open()
        for time_ms in (3, 4):
            assert pool.measure(artifact(time_ms=time_ms), 1, 10).status == "correct"
        [note] = pool.take_events()
    assert note == BoardNote(
        "a",
        "measurements wait for each other, in the order they come: ann@lab has had it for 2.5 s; "
        "next is bob@pc, who has waited for 0.5 s",
    )


def test_what_becomes_of_boards_is_a_line_each_and_said_on_a_terminal() -> None:
    events: list[Event] = [
        BoardNote("a", "times only,\nno counters"),
        BoardSilent("a", "it refuses connections"),
        BoardTakenOut("a", "it is\ttaken"),
        BoardBack("a"),
    ]
    lines, terminal = io.StringIO(), io.StringIO()
    progress, live = LineProgress(lines), LiveProgress(terminal)
    for event in events:
        progress(event)
        live(event)
    assert lines.getvalue().splitlines() == [
        "board=a\tevent=note\treason=times only, no counters",
        "board=a\tevent=note\treason=it refuses connections",
        "board=a\tevent=out\treason=it is taken",
        "board=a\tevent=back",
    ]
    assert "the board a was taken out: it is" in terminal.getvalue()
    assert "the board a is back" in terminal.getvalue()


def test_a_job_waits_for_the_only_board_to_come_back(tmp_path: Path) -> None:
    switch = tmp_path / "gone"
    with pool_of(a=FakeBoard(gone=switch)) as pool:
        pool.wait_open()
        switch.touch()
        threading.Timer(1.5, switch.unlink).start()
        assert pool.measure(artifact(time_ms=3), 1, 10).status == "correct"


def test_a_head_that_is_lost_while_the_only_board_opens_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pool_of(a=FakeBoard(opening_s=1)) as pool, monkeypatch.context() as patch:
        patch.setitem(ray_nodes._watched, "127.0.0.1:1", "it is gone")  # where nobody answers
        with pytest.raises(ClusterLost, match="it is gone"):
            pool.wait_open()


def test_whatever_ends_the_return_of_a_board_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> None:
        raise KeyError("head")

    switch = tmp_path / "gone"
    with pool_of(a=FakeBoard(gone=switch)) as pool:
        pool.wait_open()
        monkeypatch.setattr(BoardSeat, "open", fail)
        switch.touch()
        with pytest.raises(KeyError, match="head"):
            pool.measure(artifact(time_ms=3), 1, 10)
        with pytest.raises(KeyError, match="head"):
            pool.measure(artifact(time_ms=3), 1, 10)
