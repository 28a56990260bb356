"""Calibrating over SSH: micro-kernels run as tuned kernels do, and cycles may have to be time."""

from __future__ import annotations

import pytest

from rvv_runner.calibrate import calibrate
from rvv_runner.calibration.bundle import read_bundle

KERNELS = ("latency alu", "throughput v_int e32 m1")


@pytest.fixture
def short_plan(monkeypatch):
    """A calibration of two micro-kernels."""

    def measure(bench, largest_bytes):
        for name in KERNELS:
            bench.measure(name)

    monkeypatch.setattr("rvv_runner.calibrate.measure_everything", measure)


def test_a_board_without_counters_is_calibrated_by_its_clock(
    open_board, short_plan, tmp_path, monkeypatch
):
    board = open_board()
    monkeypatch.setattr("rvv_runner.calibrate.load_board", lambda name: board)
    out = tmp_path / "desk.json"
    lines: list[str] = []
    calibrate("desk", "desk", out, None, lines.append)
    told = "\n".join(lines)
    assert "no cycles were counted: they are time at the board file's 1600 MHz" in told
    assert "an addition takes" in told  # QEMU is no core at 1.6 GHz
    bundle = read_bundle(out)
    assert bundle.provenance["cycles"] == "time at 1600 MHz"
    assert bundle.provenance["kernel"].startswith("Linux ")
    measured = [reading for reading in bundle.readings if reading.kernel in KERNELS]
    for reading in measured:
        assert reading.status == "correct", reading.reason
        assert reading.cycles == pytest.approx(min(reading.times_s) * 1.6e9)
        assert len(reading.times_s) == 3
