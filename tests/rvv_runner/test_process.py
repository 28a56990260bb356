"""Bounded runs of a command: time, output, and no process left."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from rvv_runner import process
from rvv_runner.process import run_bounded


def _run(script: str, timeout_s: float = 20.0, limit_bytes: int = 1 << 16):
    return run_bounded(
        ["/bin/sh", "-c", script],
        folder=Path("/"),
        timeout_s=timeout_s,
        output_limit_bytes=limit_bytes,
    )


def _is_running(pid: int) -> bool:
    """Whether the process goes on running; one that was killed has a moment to disappear."""
    for _ in range(1000):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return False
        if state == "Z":
            return False
        time.sleep(0.02)
    return True


def test_outputs_and_status_come_back():
    result = _run("echo out; echo err >&2; exit 3")
    assert (result.returncode, result.stdout, result.stderr) == (3, "out\n", "err\n")
    assert not result.timed_out
    assert not result.flooded


def test_the_environment_is_empty():
    assert _run("/usr/bin/env | grep -v -e ^PWD= -e ^_= -e ^SHLVL=").stdout == ""


@pytest.mark.parametrize("ending", ["sleep 600", "exec >&- 2>&-; sleep 600"])
def test_the_whole_group_is_killed_when_the_time_is_up(ending):
    result = _run(f"sleep 600 & echo $! $$; {ending}", timeout_s=0.5)
    assert result.timed_out
    assert len(result.stdout.split()) == 2
    assert not any(_is_running(int(pid)) for pid in result.stdout.split())


def test_the_processor_time_is_that_of_the_command():
    assert 0.1 < _run("while :; do :; done", timeout_s=1.0).cpu_s < 1.5
    assert _run("sleep 1", timeout_s=0.5).cpu_s < 0.2


@pytest.mark.parametrize(("share", "ends"), [(1.0, False), (0.5, True), (0.25, True), (0.1, False)])
def test_a_busy_machine_has_more_time_by_the_clock(monkeypatch, share, ends):
    """As long as the command gets a fifth of a processor, for so much as the limit."""
    start_s = time.monotonic()
    monkeypatch.setattr(process, "process_cpu_s", lambda pid: share * (time.monotonic() - start_s))
    result = _run("sleep 0.6; echo end", timeout_s=0.4)
    assert (result.stdout == "end\n") is ends
    assert result.timed_out is not ends


def test_who_is_ended_has_had_its_processor_time(monkeypatch):
    start_s = time.monotonic()
    monkeypatch.setattr(process, "process_cpu_s", lambda pid: (time.monotonic() - start_s) / 3)
    assert _run("sleep 600", timeout_s=0.2).timed_out
    assert 0.6 <= time.monotonic() - start_s < 20


def test_a_child_that_outlives_the_command_is_killed():
    result = _run("sleep 60 >/dev/null 2>&1 & echo $!")
    assert result.returncode == 0
    assert not _is_running(int(result.stdout))


def test_endless_output_is_cut_off():
    result = _run("echo $$; exec yes", limit_bytes=1000)
    assert result.flooded
    assert len(result.stdout) == 1000
    assert not _is_running(int(result.stdout.split()[0]))


def test_bytes_that_are_no_text_are_replaced():
    assert _run(r"printf 'a\377b'").stdout == "a\N{REPLACEMENT CHARACTER}b"


def test_cpu_time_is_limited_beyond_the_life_of_this_process():
    # The limit is set from outside, a moment after the start.
    result = _run(
        'until n=$(ulimit -t); [ "$n" != unlimited ]; do :; done; echo "$n"', timeout_s=10
    )
    assert int(result.stdout) == 10 * (os.cpu_count() or 1) + 5
