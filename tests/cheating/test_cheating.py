"""No kernel gets a time that works only for the check, on any sort of board."""

from __future__ import annotations

import pytest
from cheats import CHEATS, FOILED, HONEST, artifact, skip_if_starved

REPEATS = 3
LIMIT_S = 200.0
SHORT_S = 1.0  # what never ends takes this long
OUTSIDE = {
    "keeps_a_mark_behind_its_input": "it wrote x[1000], and x has 1000 elements: out of bounds",
    "writes_nan_behind_its_mask": "it wrote y[1000], and y has 1000 elements: out of bounds",
    "writes_before_its_output": "it wrote y[-1], and y has 1000 elements: out of bounds",
    "writes_whole_blocks": "it touched y[1008], and y has 1000 elements: out of bounds",
    "reads_whole_blocks": "it touched x[1008], and x has 1000 elements: out of bounds",
    "writes_far_behind": "out of bounds",
    "writes_far_before": "out of bounds",
    "reads_far_behind": "out of bounds",
    "copies_what_is_expected": "out of bounds",
    "copies_what_is_expected_before": "out of bounds",
    "overwrites_what_is_expected": "out of bounds",
}
EVERYWHERE = pytest.mark.parametrize("board", ["emulated", "host", "over_ssh"], indirect=True)
# What differs between boards: several timed runs, a warm-up, and the machine.
HERE = ("is_wrong_in_its_last_run", "writes_far_behind", "prints_a_report_and_exits")


def measured(board, executable, name, folder):
    limit_s = SHORT_S if "never" in name or name == "stops_itself" else LIMIT_S
    return board.measure(artifact(executable, name, folder), REPEATS, limit_s)


def check_refused(board, executable, name, folder):
    measurement = measured(board, executable, name, folder)
    assert measurement.status != "correct"
    assert not measurement.times_s
    assert OUTSIDE.get(name, "") in measurement.reason
    if "never" in name:
        skip_if_starved(measurement)
        assert measurement.status == "timeout"
    elif name not in ("closes_every_file", "stops_itself"):
        assert measurement.status in ("wrong", "runtime"), measurement.reason


def test_there_are_thirty_at_least():
    assert len(set(CHEATS)) >= 30


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_kernel_gets_its_time(board, executable, name, tmp_path):
    measurement = measured(board, executable, name, tmp_path)
    assert (measurement.status, measurement.reason) == ("correct", "")


@pytest.mark.parametrize("name", FOILED)
def test_what_a_run_leaves_behind_spares_the_next_no_work(board, executable, name, tmp_path):
    whole = measured(board, executable, "plain", tmp_path)
    measurement = measured(board, executable, name, tmp_path)
    assert measurement.status == "correct", measurement.reason
    assert measurement.time_s >= whole.time_s


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheating_kernel_gets_no_time(board, executable, name, tmp_path):
    check_refused(board, executable, name, tmp_path)


@pytest.mark.parametrize("board", ["host", "over_ssh"], indirect=True)
@pytest.mark.parametrize("name", HERE)
def test_a_cheating_kernel_gets_no_time_with_several_runs(board, executable, name, tmp_path):
    check_refused(board, executable, name, tmp_path)


@pytest.mark.long
@EVERYWHERE
@pytest.mark.parametrize("name", CHEATS)
def test_a_cheating_kernel_gets_no_time_anywhere(board, executable, name, tmp_path):
    check_refused(board, executable, name, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("board", ["host", "over_ssh"], indirect=True)
@pytest.mark.parametrize("name", FOILED)
def test_what_a_run_leaves_behind_changes_no_timed_run(board, executable, name, tmp_path):
    measurement = measured(board, executable, name, tmp_path)
    assert measurement.status == "correct", measurement.reason


@pytest.mark.long
@EVERYWHERE
@pytest.mark.parametrize("name", HONEST)
def test_an_honest_kernel_gets_its_time_everywhere(board, executable, name, tmp_path):
    measurement = measured(board, executable, name, tmp_path)
    assert (measurement.status, measurement.reason) == ("correct", "")
