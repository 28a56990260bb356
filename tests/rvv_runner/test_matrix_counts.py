"""The matrix instruction on the emulated X60: exact, counted once, and as fast as on a board."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from engine.workers.artifacts import ArtifactStore, BuildFailure
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.config import Config
from kernels.registry import load_kernel, make_problem
from rvv_runner.devices import load_board

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "compiler"))

from bench_stored_columns import product_time_s
from matrix_loops import Loop, artifact_of, one_by_one, pipelined, tiles

LIMIT_S = 100.0


# Of an Orange Pi RV2 at 1.6 GHz (ime-bench): 1.80 to 1.91 cycles for an instruction where loads are
# pipelined, 2.77 without; 193 GOP/s with sums that are cleared and stored.
@pytest.mark.parametrize(
    ("loop", "measured"), [(pipelined(), 1.855), (one_by_one(), 2.77), (tiles(), 409.6 / 193)]
)
def test_a_loop_in_l1_takes_what_a_board_took(tmp_path: Path, loop: Loop, measured: float) -> None:
    board = load_board("emulated:x60-ime")
    board.open()
    measurement = board.measure(artifact_of(loop, tmp_path), 1, LIMIT_S)
    assert (measurement.status, measurement.reason) == ("correct", "")
    cycles = measurement.time_s * board.info.frequency_hz
    assert cycles / loop.instructions == pytest.approx(measured, rel=0.15)
    counted = measurement.counters["vector_inst"] - measurement.counters["vector_load_inst"]
    assert 0 <= counted - loop.instructions < 0.2 * loop.instructions  # clears and stores


def test_a_board_without_the_unit_does_not_run_it(tmp_path: Path) -> None:
    board = load_board("emulated:x60")
    board.open()
    measurement = board.measure(artifact_of(pipelined(), tmp_path), 1, LIMIT_S)
    assert measurement.status == "runtime"
    assert "SIGILL" in measurement.reason or "illegal" in measurement.reason


@pytest.mark.parametrize("depth", [256, 251])
def test_b_by_columns_takes_about_as_long_as_by_rows(depth: int) -> None:
    board = load_board("emulated:x60-ime")
    board.open()
    by_row, by_column = (
        product_time_s(board, (64, 128, depth), (64, 128, 256), by_column)
        for by_column in (False, True)
    )
    assert by_column < 1.15 * by_row


def test_columns_that_nobody_stores_are_not_multiplied(tmp_path: Path) -> None:
    """Of weights that are padded to whole blocks, so that no load of them has a mask."""
    board = load_board("emulated:x60-ime")
    board.open()
    counted = []
    for columns in (64, 17):
        problem = make_problem(load_kernel("matmul_w4a8"), {"M": 16, "N": columns, "K": 64})
        request = BuildRequest(
            "matmul_w4a8", problem.shape, "i8", board.info.target, ArtifactStore(tmp_path)
        )
        built = KernelBuilder(request).build(Config({"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 64}))
        assert not isinstance(built, BuildFailure)
        measurement = board.measure(built, 1, LIMIT_S)
        assert (measurement.status, measurement.reason) == ("correct", "")
        counted.append(measurement.counters["vector_inst"])
    assert counted[1] < 0.75 * counted[0]
