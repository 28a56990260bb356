"""Counters are told in words."""

from __future__ import annotations

from engine.results.counter_text import _WORDS, counter_text
from rvv_runner.emulated.counters import _K1_EVENTS, _OWN_COUNTERS


def test_every_counter_of_the_emulated_board_has_words() -> None:
    named = {*_K1_EVENTS, *_OWN_COUNTERS} - {"u_mode_cycle", "instructions"}
    assert named == _WORDS.keys()
    assert counter_text("branch_misses") == "mispredicted branches (branch_misses)"
    assert counter_text("a_boards_own_event") == "a_boards_own_event"
