"""How busy boards were, and what they waited for."""

from __future__ import annotations

import time

from engine.results.busy import busy_line, busy_sentence
from engine.run.events import RunEnded
from engine.workers.board_events import BoardRecord
from engine.workers.waiting import Waiting

STEP_S = 0.02


def test_a_boards_idle_time_goes_to_what_holds_it_up() -> None:
    waiting = Waiting()
    waiting.boards_idle(2)
    time.sleep(STEP_S)  # before the run
    waiting.begin()
    with waiting.doing("proposals"):
        time.sleep(STEP_S)
        with waiting.building():  # a build is waited for, whatever else goes on
            time.sleep(2 * STEP_S)
    waiting.boards_idle(-2)
    with waiting.doing("store"):
        time.sleep(STEP_S)  # both measure meanwhile
    waiting.add("other tuners", 3.0)
    found = waiting.end()
    assert found["proposals"] >= 2 * STEP_S  # of two boards
    assert found["builders"] >= 4 * STEP_S
    assert found["other tuners"] == 3.0
    assert "store" not in found


def test_the_end_of_a_run_says_it() -> None:
    record = BoardRecord("desk", measured=4, busy_s=9.7)
    ended = RunEnded("trials", 4, 4, 10.0, (record,), {"builders": 0.1, "store": 0.2})
    assert busy_sentence(ended) == "boards busy: 97%; waited 0.2 s for store, 0.1 s for builders"
    assert busy_line(ended) == ["busy=0.970\twaited_for_builders_s=0.100\twaited_for_store_s=0.200"]
    nothing = RunEnded("failed", 0, 0, 10.0, (), {})
    assert busy_sentence(nothing) is None
    assert busy_line(nothing) == []
