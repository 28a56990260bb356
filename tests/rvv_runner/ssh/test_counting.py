"""Counters over SSH: events are probed once, put into groups that fit, and counted apart."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from ssh_cases import SCALE, TIMEOUT_S, doubled, set_path

# A perf for three counters of a monitor with two: r1 and r2 fit together, r3 not with another; r9
# is unknown to the core. It counts 1000 for a program and 70 for each timed run.
FAKE_PERF = """#!/bin/sh
while [ "$1" != -- ]; do
    case $1 in -e) events=$2 ;; -o) exec 8>"$2" ;; --log-fd) exec 8>&"$2" ;; esac
    shift
done
shift
"$@" || exit
count=1000
for word in "$@"; do last=$word; done
[ "$last" != 1 ] || count=1070
number=0
{
    echo "# started on a day"
    echo
    for event in $(echo "$events" | tr , ' '); do
        number=$((number + 1))
        case $event in
            r9) echo "<not supported>;;r9:u;0;100.00;;" ;;
            *) if [ "$number" -le 2 ]; then echo "$count;;$event:u;5000;100.00;;"
               else echo "$count;;$event:u;2500;50.00;;"; fi ;;
        esac
    done
} >&8
"""


@pytest.fixture
def fake_perf(server, tmp_path: Path) -> Path:
    """A perf that the board's users find first."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "perf").write_text(FAKE_PERF)
    (folder / "perf").chmod(0o755)
    set_path(server, f"{folder}:{os.environ['PATH']}")
    return folder


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
    (fake_perf / "perf").write_text("#!/bin/sh\necho 'Access is limited.' >&2\nexit 255\n")
    board = open_board(events=EVENTS)
    assert board.notes == ("times only, no counters: Access is limited.",)
    measurement = board.measure(build_kernel(SCALE, doubled()), 1, TIMEOUT_S)
    assert measurement.status == "correct"
    assert measurement.counters == {}


def test_a_board_without_perf_gives_times_and_says_so(open_board, build_kernel, server, tmp_path):
    folder = tmp_path / "tools"
    folder.mkdir()
    for directory in ("/usr/bin", "/bin"):
        for tool in Path(directory).iterdir():
            if tool.name != "perf" and not (folder / tool.name).exists():
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
