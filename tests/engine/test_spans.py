"""When a configuration was built and measured."""

from __future__ import annotations

import time

import pytest

from engine.workers.spans import Span, span


def test_a_clock_that_is_set_back_makes_no_time_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    spans: list[Span] = []
    before_s = time.time()
    with span(spans, "build", lambda: "builder 1"):
        monkeypatch.setattr(time, "time", lambda: before_s - 3600)
    [found] = spans
    assert before_s <= found.start_s <= found.end_s < before_s + 60
