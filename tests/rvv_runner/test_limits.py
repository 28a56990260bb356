"""What an emulated core could do at best, by hand from its cost table and board file."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from rvv_runner import emulated
from rvv_runner.devices import load_board
from rvv_runner.emulated.board import EmulatedBoard
from rvv_runner.emulated.costs import read_cost_table
from rvv_runner.emulated.limits import Limits, limits_of


def limits(device: str) -> Limits:
    board = load_board(device)
    assert isinstance(board, EmulatedBoard)
    return board.limits


def test_an_x60_and_its_cluster() -> None:
    one, eight = limits("emulated:x60"), limits("emulated:x60@8cores")
    # 8 lanes of 32 bits at 1.6 GHz; a line of 64 bytes in 14.3 cycles, for all cores in 12.8.
    assert one.float_operations_per_s == pytest.approx(25.6e9)
    assert one.integer_operations_per_s == pytest.approx(51.2e9)
    assert one.bytes_per_s == pytest.approx(7.16e9, rel=1e-3)
    assert eight.float_operations_per_s == pytest.approx(8 * 25.6e9)
    assert eight.bytes_per_s == pytest.approx(8e9)
    assert (one.l2_bytes, eight.l2_bytes) == (512 << 10, 2 * 512 << 10)


def test_memory_that_costs_nothing_bounds_nothing() -> None:
    path = Path(emulated.__file__).with_name("x60_costs.toml")
    table = read_cost_table(path, 256, {"memory": {"dram_read": 0}}).for_cores(4, 4)
    assert limits_of(table, 1e9, 0).bytes_per_s == math.inf


def test_the_bound_is_the_slower_of_arithmetic_and_memory() -> None:
    board = Limits(1e9, 4e9, 8e9, l2_bytes=1000)
    how = {"is_float": True, "is_warm": False}
    assert board.least_time_s(2000, 4e3, **how) == pytest.approx(2e-6)
    assert board.least_time_s(2000, 4e9, **how) == pytest.approx(1)
    assert board.least_time_s(2000, 4e9, is_float=False, is_warm=False) == pytest.approx(0.5)
    assert board.least_time_s(1500, None, is_float=True, is_warm=True) == pytest.approx(0.5e-6)
    assert board.least_time_s(900, None, is_float=True, is_warm=True) == 0
