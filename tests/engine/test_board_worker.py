"""A board's process: what the board says comes before the result of a call."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from fakes import FakeBoard, artifact

from engine.workers.board_process import BoardWorker, Said
from rvv_runner.board import BoardError
from rvv_runner.measurement import Measurement


def worker_of(**behaviour: Any) -> BoardWorker:
    return BoardWorker(functools.partial(FakeBoard, **behaviour))


def test_what_is_said_comes_before_the_result() -> None:
    worker = worker_of(silent_s=0.01)
    worker.open()
    said, again = Said("it does not answer"), Said("it answers again")
    assert [worker.opened(), worker.go_on(), worker.go_on()] == [said, again, None]
    told = [worker.measure(artifact(time_ms=3), 1, 10), worker.go_on()]
    assert told == [said, again]
    measured = worker.go_on()
    assert isinstance(measured, Measurement)
    assert measured.status == "correct"


def test_what_a_call_gives_that_was_given_up_is_no_answer_to_the_next() -> None:
    worker = worker_of(silent_s=0.01)
    worker.open()
    assert worker.measure(artifact(time_ms=3), 1, 10) == Said("it does not answer")
    assert worker.go_on() == Said("it answers again")
    assert isinstance(worker.go_on(), Measurement)
    refused = worker_of(opens=False, silent_s=0.01)
    refused.open()
    with pytest.raises(BoardError, match="out of order"):
        refused.measure(artifact(time_ms=3), 1, 10)


def test_a_board_that_says_nothing_answers_at_once() -> None:
    worker = worker_of()
    worker.open()
    assert worker.opened() is None
    assert isinstance(worker.measure(artifact(time_ms=3), 1, 10), Measurement)
    with pytest.raises(RuntimeError, match="started anew"):
        worker.go_on()


def test_why_it_cannot_be_opened_is_raised_when_it_is_known() -> None:
    with pytest.raises(BoardError, match="out of order"):
        worker_of(opens=False).open()
    silent = worker_of(opens=False, silent_s=0.01)
    silent.open()
    assert silent.go_on() == Said("it answers again")
    with pytest.raises(BoardError, match="out of order"):
        silent.go_on()
