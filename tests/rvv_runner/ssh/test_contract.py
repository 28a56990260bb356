"""What every board does alike, whether it is emulated or at the end of a network."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from ssh_cases import SCALE, TIMEOUT_S, doubled, processes_with

from rvv_runner import Board
from rvv_runner.board_file import read_board_file
from rvv_runner.emulated.board import EmulatedBoard


@pytest.fixture(params=["emulated", "ssh"])
def any_board(request: pytest.FixtureRequest) -> Iterator[Board]:
    """A board of each sort, opened."""
    if request.param == "ssh":
        yield request.getfixturevalue("open_board")()
        return
    board = EmulatedBoard(read_board_file("x60"))
    board.open()
    yield board
    board.close()


def test_a_right_kernel_is_timed(any_board, build_kernel):
    measurement = any_board.measure(build_kernel(SCALE, doubled()), 2, TIMEOUT_S)
    assert (measurement.status, measurement.reason) == ("correct", "")
    assert measurement.time_s is not None
    assert measurement.time_s > 0
    assert measurement.board == any_board.info.name
    assert measurement.estimated == any_board.info.estimated
    assert measurement.max_abs_error == 0


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (SCALE.replace("2;", "3;"), "wrong", "v[1] is 3 and should be 2"),
        ("__builtin_trap();", "runtime", "it was ended by SIGILL"),
        ("*(volatile int *)8 = 1;", "runtime", "it was ended by SIGSEGV"),
        ("exit(7);", "runtime", "it ended with status 7"),
        ("_Exit(0);", "runtime", "it ended with status 0"),
        ('for (;;) puts("and again and again");', "runtime", "it printed more than 1 MiB"),
    ],
)
def test_a_bad_kernel_gets_its_status_and_reason(any_board, build_kernel, body, status, reason):
    measurement = any_board.measure(build_kernel(body, doubled()), 1, TIMEOUT_S)
    assert (measurement.status, measurement.reason) == (status, reason)
    assert measurement.times_s == ()
    assert measurement.counters == {}


def test_a_kernel_that_hangs_is_ended_in_time(any_board, build_kernel):
    artifact = build_kernel('for (;;) __asm__ volatile("");', doubled(), grid=(7907, 1, 1))
    start_s = time.monotonic()
    measurement = any_board.measure(artifact, 1, 1.0)
    assert (measurement.status, measurement.reason) == ("timeout", "it did not finish within 1 s")
    assert time.monotonic() - start_s < 6
    assert processes_with("7907,1,1") == []


def test_faults_of_the_board_are_not_the_kernels(any_board, build_kernel):
    artifact = build_kernel(SCALE, doubled(), vlen_bits=512)
    other_length = any_board.measure(artifact, 1, TIMEOUT_S)
    assert other_length.status == "board"
    assert "512 bits" in other_length.reason
    claimed = type(artifact)(artifact.elf_path, "", artifact.data_path, (1, 1, 1), 256)
    refused = any_board.measure(claimed, 1, TIMEOUT_S)
    assert refused.status == "board"
    assert "have 256 bits and the kernel was built for 512" in refused.reason


def test_data_that_cannot_be_read_is_the_boards_fault(any_board, build_kernel):
    artifact = build_kernel(SCALE, doubled())
    artifact.data_path.write_bytes(b"not a data file")
    assert any_board.measure(artifact, 1, TIMEOUT_S).status == "board"


def test_measuring_needs_an_open_board(any_board, build_kernel):
    artifact = build_kernel(SCALE, doubled())
    any_board.close()
    any_board.close()
    with pytest.raises(RuntimeError, match="not open"):
        any_board.measure(artifact, 1, TIMEOUT_S)
    any_board.open()
    assert any_board.measure(artifact, 1, TIMEOUT_S).status == "correct"
