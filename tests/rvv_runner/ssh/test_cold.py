"""Times with cold caches: on every sort of board, in names, and in what a study is about."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from ssh_cases import TIMEOUT_S, WRAPPER

from engine.run.identity import identity_of
from engine.workers.devices import check_device_name, every_device, machine_of, timed
from foundation.errors import UserError
from gpu_runner.names import Timing
from kernels.registry import load_kernel, make_problem
from launchers import Argument
from rvv_runner import Board, ElfArtifact
from rvv_runner.board_file import BoardFile
from rvv_runner.devices import is_emulated, load_board
from rvv_runner.event_costs import event_costs
from rvv_runner.ssh.board import SshBoard
from rvv_runner.usage import Usage

# Less than any second-level cache holds.
LINES = 1000
COUNT = 16 * LINES
# An element of each line, 37 lines apart; where the next one is depends on the last, which is 1.
WALK = """
    float *v = (float *)args[0], *s = (float *)args[1];
    for (int n = 0, i = 0; n < 1000; n++, i = (i + 37 * 16 + (int)(v[i] - 1)) % 16000) *s += v[i];
"""
L2_BYTES = 524_288  # of the X60


def walked() -> list[Argument]:
    ones, zero = np.ones(COUNT, np.float32), np.zeros(1, np.float32)
    return [Argument("v", "*fp32", ones), Argument("s", "*fp32", zero, zero + LINES)]


@pytest.fixture
def logged(tmp_path: Path, board_file: BoardFile) -> BoardFile:
    """A board over SSH that logs what it runs."""
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(f'#!/bin/sh\necho "$*" >>"{tmp_path}/log"\nexec {" ".join(WRAPPER)} "$@"\n')
    wrapper.chmod(0o755)
    assert board_file.ssh is not None
    ssh = dataclasses.replace(board_file.ssh, wrapper=(str(wrapper),))
    return dataclasses.replace(board_file, ssh=ssh)


@pytest.fixture(params=["emulated", "host", "ssh"])
def cold_board(request: pytest.FixtureRequest) -> Iterator[Board]:
    if request.param == "ssh":
        board: Board = SshBoard(
            "desk", request.getfixturevalue("logged"), usage=Usage(timing="cold")
        )
    else:
        board = load_board(f"{request.param}@cold")
    board.open()
    yield board
    board.close()


def test_it_measures_as_any_board_does(
    cold_board: Board, build_kernel: Callable[..., ElfArtifact], tmp_path: Path
) -> None:
    build = functools.partial(build_kernel, target=cold_board.info.target)
    measurement = cold_board.measure(build(WALK, walked()), 2, TIMEOUT_S)
    assert (measurement.status, measurement.reason) == ("correct", "")
    assert measurement.max_abs_error == 0
    assert measurement.board.endswith("@cold")
    assert cold_board.info.kind.endswith("-cold")
    if isinstance(cold_board, SshBoard):
        assert f"--flush {4 * L2_BYTES}" in (tmp_path / "log").read_text()


def test_the_emulated_caches_hold_nothing_of_the_arrays(
    build_kernel: Callable[..., ElfArtifact],
) -> None:
    artifact = build_kernel(WALK, walked())
    misses, times_s = [], []
    for name in ("emulated", "emulated@cold"):
        board = load_board(name)
        board.open()
        measurement = board.measure(artifact, 1, TIMEOUT_S)
        misses.append(measurement.counters["l2_miss"])
        times_s.append(measurement.time_s or 0.0)
    assert misses[0] < LINES / 10
    assert misses[1] > 0.95 * LINES  # it keeps lines at random
    assert times_s[1] > 2 * times_s[0]


def test_a_study_is_of_one_way_of_timing() -> None:
    problem = make_problem(load_kernel("vector_add"), {})
    warm, cold = (
        identity_of(problem, load_board(name).info, "auto")
        for name in ("emulated", "emulated@cold")
    )
    assert (warm.device, cold.device) == ("emulated:x60", "emulated:x60@cold")
    assert warm.made_with["board model"] != cold.made_with["board model"]


def test_timing_is_part_of_a_name() -> None:
    assert timed("emulated", "cold") == "emulated@cold"
    assert timed("emulated@cold", "warm") == "emulated"
    assert timed("desk@attic", "cold") == "desk@cold@attic"
    assert machine_of("desk@cold") == ("desk@cold", "")
    assert machine_of("desk@cold@attic") == ("desk@cold", "attic")
    assert machine_of("ssh://me@cold") == ("ssh://me@cold", "")
    assert every_device("emulated@cold") == ["emulated@cold"]
    check_device_name("host@cold")
    assert is_emulated("emulated:x60@cold")
    assert event_costs("emulated:x60@cold") == event_costs("emulated:x60")


@pytest.mark.parametrize(
    ("name", "timing", "message"),
    [
        ("host", "graph", "--timing graph is for GPUs, which host is not: give cold or warm"),
        ("ssh://me@desk", "cold", "ssh://me@desk is an address: write a board file with"),
        ("python", "cold", "--timing is for boards, which python is not: leave it out"),
    ],
)
def test_what_cannot_be_timed_so_is_told(name: str, timing: Timing, message: str) -> None:
    with pytest.raises(UserError, match=message):
        timed(name, timing)
