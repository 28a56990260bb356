"""Counters over SSH: events are probed once, put into groups that fit, and counted apart."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from ssh_cases import SCALE, TIMEOUT_S, doubled, set_path

EVENTS = {"first": 1, "second": 2, "unknown": 9, "third": 3}


def test_events_are_counted_in_groups_that_fit(fake_perf, open_board, build_kernel):
    board = open_board(events=EVENTS)
    counting = board.counting
    assert counting.groups == (("r1", "r2"), ("r3",))
    assert counting.refused == ("unknown",)
    measurement = board.measure(build_kernel(SCALE, doubled()), 3, TIMEOUT_S)
    assert measurement.status == "correct", measurement.reason
    assert len(measurement.times_s) == 3
    assert measurement.counters == {"first": 70, "second": 70, "third": 70}


def test_a_wrong_kernel_is_not_counted(fake_perf, open_board, build_kernel):
    board = open_board(events=EVENTS)
    wrong = build_kernel(SCALE.replace("2;", "3;"), doubled())
    assert board.measure(wrong, 1, TIMEOUT_S).counters == {}


def test_a_perf_that_does_not_work_leaves_the_times(fake_perf, open_board, build_kernel):
    # What perf 6.1 prints of kernel.perf_event_paranoid = 3, in part.
    said = "Error:\nAccess to performance monitoring is limited.\nsetting is 3:\n  -1: Allow"
    (fake_perf / "perf").write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 255\n")
    board = open_board(events=EVENTS)
    assert board.notes == ("times only, no counters: Access to performance monitoring is limited",)
    measurement = board.measure(build_kernel(SCALE, doubled()), 1, TIMEOUT_S)
    assert measurement.status == "correct"
    assert measurement.counters == {}


def test_a_board_without_perf_gives_times_and_says_so(open_board, build_kernel, server, tmp_path):
    folder = tmp_path / "tools"
    folder.mkdir()
    for directory in ("/usr/bin", "/bin"):
        for tool in Path(directory).iterdir():
            if tool.name != "perf" and not (folder / tool.name).is_symlink():
                (folder / tool.name).symlink_to(tool)
    set_path(server, str(folder))
    board = open_board(events=EVENTS)
    assert board.notes == ("times only, no counters: perf is not installed there",)
    measurement = board.measure(build_kernel(SCALE, doubled()), 1, TIMEOUT_S)
    assert (measurement.status, measurement.counters) == ("correct", {})


@pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not on this machine")
def test_the_real_perf_counts_what_one_run_takes(open_board, build_kernel):
    """Page faults of the emulator, since software events are all that some machines count."""
    touch = """
    static int runs;
    enum { SIZE = 64 << 20, PAGE = 4096 };
    if (runs++ == 2) { /* the check, the run before the last output is checked, and one more */
        volatile char *memory = malloc(SIZE);
        for (int i = 0; i < SIZE; i += PAGE) memory[i] = 1;
    }
    """
    board = open_board(events={"page_faults": "page-faults", "made_up": "no-such-event"})
    if board.counting.problem:
        pytest.skip(f"perf counts nothing here: {board.counting.problem}")
    assert board.counting.refused == ("made_up",)
    measurement = board.measure(build_kernel(f"{touch} {SCALE}", doubled()), 1, TIMEOUT_S)
    assert measurement.status == "correct", measurement.reason
    assert measurement.counters["page_faults"] >= 0.9 * (64 << 20) / 4096
