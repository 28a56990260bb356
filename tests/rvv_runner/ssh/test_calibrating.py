"""Calibrating over SSH: micro-kernels run as tuned kernels do, and cycles may have to be time."""

from __future__ import annotations

import pytest

from rvv_runner.calibrate import calibrate, progress_line
from rvv_runner.calibration.bundle import read_bundle
from rvv_runner.calibration.plan import instruction_count

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


def test_a_calibration_that_is_ended_says_that_nothing_is_written(
    open_board, tmp_path, monkeypatch
):
    def stopped(bench, largest_bytes):
        bench.measure(KERNELS[0])
        raise KeyboardInterrupt

    board = open_board()
    monkeypatch.setattr("rvv_runner.calibrate.load_board", lambda name: board)
    monkeypatch.setattr("rvv_runner.calibrate.measure_everything", stopped)
    lines: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        calibrate("desk", "desk", tmp_path / "desk.json", None, lines.append)
    assert lines[-1].endswith(" measured, and nothing is written: the same command begins anew")
    assert not (tmp_path / "desk.json").exists()


def test_progress_has_a_total_and_the_time_left():
    total = instruction_count()
    line = progress_line(100, 50.0)
    left_s = round((total - 100) / 2)
    assert line.startswith(
        f"100 measured in 50 s, of {total} and those of memory; about {left_s} s"
    )
    assert "now those of memory" in progress_line(total + 13, 50.0)
