"""Kernels on several cores of a board over SSH, whose threads are real: bound, counted, ended."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from ssh_cases import SCALE, WRAPPER, doubled, processes_with

from foundation.errors import UserError
from launchers import Argument
from rvv_runner import BoardError, ElfArtifact, verdict
from rvv_runner.board_file import BoardFile
from rvv_runner.ssh.board import SshBoard
from rvv_runner.usage import Usage

# Both of two programs run at once, each on a processor of its own; else this never ends.
TOGETHER = """
    uint32_t *there = (uint32_t *)args[0];
    __atomic_fetch_add(&there[x], 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&there[1 - x], __ATOMIC_RELAXED) == 0) ;
"""
ENDLESS = "((uint32_t *)args[0])[x] = 1; if (num_x == 2) for (;;) ;"
GRID = (2, 1, 1)
needs_two = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="it takes two processors")


def there() -> list[Argument]:
    return [Argument("there", "*u32", np.zeros(2, np.uint32), np.ones(2, np.uint32))]


@pytest.fixture
def two_cores(tmp_path: Path, board_file: BoardFile, fake_perf: Path) -> Iterator[SshBoard]:
    """A board on two cores that logs what it runs, and on what; it counts one event."""
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(
        f'#!/bin/sh\necho "$(taskset -pc $$) $*" >>"{tmp_path}/log"\n'
        f'exec {" ".join(WRAPPER)} "$@"\n'
    )
    wrapper.chmod(0o755)
    assert board_file.ssh is not None
    ssh = dataclasses.replace(board_file.ssh, wrapper=(str(wrapper),))
    board = SshBoard(
        "desk", dataclasses.replace(board_file, ssh=ssh, events={"first": 1}), usage=Usage(2)
    )
    board.open()
    yield board
    board.close()


@needs_two
def test_programs_run_at_once_on_processors_of_their_own(
    two_cores: SshBoard, build_kernel: Callable[..., ElfArtifact], tmp_path: Path
) -> None:
    artifact = dataclasses.replace(build_kernel(TOGETHER, there(), GRID), ordered=True)
    measurement = two_cores.measure(artifact, 2, 60)
    assert (measurement.status, measurement.reason) == ("correct", "")
    assert (len(measurement.times_s), measurement.board) == (2, "desk@2cores")
    first, last = sorted(os.sched_getaffinity(0))[-2:]
    logged = (tmp_path / "log").read_text()
    assert f"affinity list: {first},{last}" in logged or f"list: {first}-{last}" in logged
    assert logged.count("--cores 2") == len(logged.splitlines()) == 3  # two of them counted
    assert measurement.counters == {"first": 70}


@needs_two
def test_all_threads_are_ended_with_the_time(
    two_cores: SshBoard,
    build_kernel: Callable[..., ElfArtifact],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(verdict, "_LEAST_SHARE", 1e-9)  # it hangs on a busy machine, too
    artifact = build_kernel(ENDLESS, there(), (2, 7919, 1))
    measurement = two_cores.measure(artifact, 1, 2)
    assert measurement.status == "timeout", measurement.reason
    assert not processes_with("2,7919,1")


@needs_two
def test_a_core_that_goes_offline_in_a_study_is_the_boards_fault(
    two_cores: SshBoard, build_kernel: Callable[..., ElfArtifact], tmp_path: Path
) -> None:
    """And no configuration's, so tuners measure it again."""
    artifact = build_kernel(SCALE, doubled(), (1, 1, 1))
    assert two_cores.measure(artifact, 1, 60).status == "correct"
    wrapper = tmp_path / "wrapper"
    left = f"taskset -c {min(os.sched_getaffinity(0))} "
    wrapper.write_text(wrapper.read_text().replace("exec ", f"exec {left}"))
    measurement = two_cores.measure(artifact, 1, 60)
    reason = "2 cores are wanted and this program may use 1"
    assert (measurement.status, measurement.reason[-len(reason) :]) == ("board", reason)


def test_a_core_that_is_missing_is_told_before_anything_runs(
    board_file: BoardFile, tmp_path: Path
) -> None:
    system = tmp_path / "sys"
    (system / "devices/system/cpu").mkdir(parents=True)
    (system / "devices/system/cpu/online").write_text("0-2,5\n")
    board = SshBoard("desk", board_file, patience_s=0, system=str(system), usage=Usage(6))
    expected = "too few processors for 6 cores, since it can use 0, 1, 2, 5 only: give --cores 4"
    with pytest.raises(BoardError, match=expected):
        board.open()
    with pytest.raises(UserError, match="desk has 8 cores and --cores asks for 9"):
        SshBoard("desk", board_file, usage=Usage(9))
