"""What every board does alike: emulated, at the end of a network, or this very machine."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator

import pytest
from pairs import in_turn
from ssh_cases import SCALE, TIMEOUT_S, doubled, processes_with

from rvv_runner import Board, ElfArtifact, verdict
from rvv_runner.devices import load_board


@pytest.fixture(params=["emulated", "host", "ssh"])
def any_board(request: pytest.FixtureRequest) -> Iterator[Board]:
    """A board of each sort, opened."""
    if request.param == "ssh":
        yield request.getfixturevalue("open_board")()
        return
    board = load_board(request.param)
    board.open()
    yield board
    board.close()


@pytest.fixture
def build(any_board: Board, build_kernel: Callable[..., ElfArtifact]) -> Callable[..., ElfArtifact]:
    """Builds small C kernels for the board's processor."""
    return functools.partial(build_kernel, target=any_board.info.target)


BAD_KERNELS = [
    (SCALE.replace("2;", "3;"), "wrong", "v[1] is 3 and should be 2; 999 of 1000 are wrong"),
    (
        "__builtin_trap();",
        "runtime",
        "it was ended by SIGILL: the core lacks an instruction, perhaps of an extension: see "
        "rvv-tune boards check",
    ),
    ("*(volatile int *)8 = 1;", "runtime", "it was ended by SIGSEGV"),
    ("abort();", "runtime", "it was ended by SIGABRT"),
    ("exit(77);", "runtime", "it ended with status 77"),
    (
        'triton_rvv_assertion_failed("k.py:3: assertion failed: n", 1, 0, 0);',
        "runtime",
        "k.py:3: assertion failed: n in program (1, 0, 0)",
    ),
    (
        "triton_rvv_scratch(1ull << 60);",
        "runtime",
        "the kernel's blocks need 1099511627776 MiB of memory, more than is free",
    ),
    ("_Exit(0);", "runtime", "it ended with status 0"),
    (
        'puts("out OK max_abs_error=0"); fflush(stdout); _Exit(0);',
        "runtime",
        "it ended with status 0",
    ),
    ('for (;;) puts("and again and again");', "runtime", "it printed more than 1 MiB"),
]


def test_a_right_kernel_is_timed(any_board, build):
    measurement = any_board.measure(build(SCALE, doubled()), 2, TIMEOUT_S)
    assert (measurement.status, measurement.reason) == ("correct", "")
    assert measurement.time_s is not None
    assert measurement.time_s > 0
    assert measurement.board == any_board.info.name
    assert measurement.estimated == any_board.info.estimated
    assert measurement.max_abs_error == 0


@pytest.mark.parametrize(
    ("any_board", "body", "status", "reason"),
    in_turn(["emulated", "host", "ssh"], BAD_KERNELS),
    indirect=["any_board"],
)
def test_a_bad_kernel_gets_its_status_and_reason(any_board, build, body, status, reason):
    measurement = any_board.measure(build(body, doubled()), 1, TIMEOUT_S)
    assert (measurement.status, measurement.reason) == (status, reason)
    assert measurement.times_s == ()
    assert measurement.counters == {}


def test_a_kernel_that_hangs_is_ended_in_time(any_board, build, monkeypatch):
    monkeypatch.setattr(verdict, "_LEAST_SHARE", 1e-9)  # it hangs on a busy machine, too
    artifact = build('for (;;) __asm__ volatile("");', doubled(), grid=(7907, 1, 1))
    measurement = any_board.measure(artifact, 1, 1.0)
    reason = "it did not finish within 1 s"
    assert (measurement.status, measurement.reason) == ("timeout", reason)
    assert processes_with("7907,1,1") == []


def test_another_vector_length_is_not_the_kernels_fault(any_board, build, build_kernel):
    claimed = dataclasses.replace(build(SCALE, doubled()), vlen_bits=64)
    refused = any_board.measure(claimed, 1, TIMEOUT_S)
    assert refused.status == "board"
    assert "64 bits" in refused.reason
    if any_board.info.backend == "rvv":
        longer = dataclasses.replace(build_kernel(SCALE, doubled(), vlen_bits=512), vlen_bits=256)
        refused = any_board.measure(longer, 1, TIMEOUT_S)
        assert refused.status == "board"
        assert "have 256 bits and the kernel was built for 512" in refused.reason


def test_the_time_of_another_kernel_is_not_believed(any_board, build):
    claimed = dataclasses.replace(build(SCALE, doubled()), kernel="matmul_kernel")
    measurement = any_board.measure(claimed, 1, TIMEOUT_S)
    assert (measurement.status, measurement.times_s) == ("board", ())
    assert measurement.reason == "what ran was the kernel tiny_kernel, not matmul_kernel"


def test_data_that_cannot_be_read_is_the_boards_fault(any_board, build):
    artifact = build(SCALE, doubled())
    artifact.data_path.write_bytes(b"not a data file")
    assert any_board.measure(artifact, 1, TIMEOUT_S).status == "board"


def test_measuring_needs_an_open_board(any_board, build):
    artifact = build(SCALE, doubled())
    any_board.close()
    any_board.close()
    with pytest.raises(RuntimeError, match="not open"):
        any_board.measure(artifact, 1, TIMEOUT_S)
    any_board.open()
    assert any_board.measure(artifact, 1, TIMEOUT_S).status == "correct"
