"""Bounded runs of a command: time, output, and no process left."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

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
