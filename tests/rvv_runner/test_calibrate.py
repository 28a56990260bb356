"""Calibrating: the constants of a core are found again from what micro-kernels take on it."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from foundation.errors import CommandError
from rvv_runner.__main__ import main
from rvv_runner.board_file import read_board_file
from rvv_runner.calibration.bench import Bench
from rvv_runner.calibration.bundle import Bundle, read_bundle, write_bundle
from rvv_runner.calibration.core_of_bundle import core_of_bundle
from rvv_runner.calibration.cost_table_text import cost_table_text
from rvv_runner.calibration.plan import all_kernels, measure_memory
from rvv_runner.calibration.readings import Reading, Readings
from rvv_runner.devices import load_board
from rvv_runner.emulated.board import EmulatedBoard
from rvv_runner.emulated.costs import read_cost_table

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from hidden_cores import CHANGES, hidden_core

pytestmark = pytest.mark.timeout(120)

COST_TABLE = Path(__file__).parents[2] / "rvv_runner" / "emulated" / "x60_costs.toml"
CLASSES = ("v_int", "v_fma")
LARGEST_BYTES = 8 << 20
# What micro-kernels of memory and of two classes are enough for.
FOUND = [
    change
    for change in CHANGES
    if change.part in ("memory", "branches") or change.name.partition("/")[0] in CLASSES
]


@pytest.fixture
def boards(tmp_path, monkeypatch) -> Path:
    """The folder of the user's board files."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "config" / "triton-rvv-tuner" / "boards"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def bench(tmp_path):
    """Makes a bench of an emulated core's micro-kernels; the second argument changes them."""

    def make(device: str, change=lambda kernel: kernel) -> Bench:
        board = load_board(device)
        board.open()
        kernels = map(change, all_kernels(board.info.vlen_bits))
        return Bench(board, kernels, tmp_path)

    return make


def bundle_of(readings: Readings, device: str = "desk") -> Bundle:
    board = read_board_file("x60")
    return Bundle(
        name="mine",
        device=device,
        cpu=board.cpu,
        vlen_bits=board.vlen_bits,
        cores=board.cores,
        frequency_hz=board.frequency_hz,
        l1d_bytes=None,
        l2_bytes=None,
        provenance={"date": "2026-11-22"},
        readings=readings,
    )


def reading(kernel: str, cycles: float | None = 12800.0) -> Reading:
    status = "correct" if cycles else "wrong"
    return Reading(kernel, {"iterations": 100}, 128, status, cycles)


def test_a_hidden_cores_constants_are_found_from_anothers_table(boards, bench):
    like = read_board_file("x60")
    (boards / "hidden.toml").write_text(hidden_core(like, FOUND))
    measured = bench("emulated:hidden")
    for kind in ("throughput", "latency"):
        for name in CLASSES:
            measured.measure(f"{kind} {name} e32 m1")
    for name in ("alu", "divide"):
        measured.measure(f"latency {name}")
    measure_memory(measured, LARGEST_BYTES)
    assert {each.reason for each in measured.readings} == {""}

    core = core_of_bundle(bundle_of(measured.readings), "x60")
    hidden = read_board_file("hidden", boards)
    truth = read_cost_table(COST_TABLE, hidden.vlen_bits, hidden.emulation.costs)
    off = {c.name: c.value(core.table) / c.value(truth) - 1 for c in FOUND}
    assert {name: error for name, error in off.items() if abs(error) > 0.1} == {}
    assert len(off) >= 15
    # What was found is far from what was assumed before.
    before = read_cost_table(COST_TABLE, like.vlen_bits)
    assert all(abs(c.value(before) / c.value(truth) - 1) > 0.15 for c in FOUND)
    assert core.out_of_order is False
    (boards / "found.toml").write_text(core.text)
    assert isinstance(load_board("emulated:found"), EmulatedBoard)


def test_a_micro_kernel_that_computes_something_else_has_no_time(bench):
    def wrong(kernel):
        if kernel.name != "latency alu":
            return kernel
        return dataclasses.replace(kernel, body=kernel.body.replace("addi t1,t1,1", "addi t1,t1,2"))

    measured = bench("emulated:x60", wrong)
    assert measured.measure("latency alu") is None
    assert measured.measure("latency multiply") == pytest.approx(5, rel=0.02)
    failed = [each for each in measured.readings if each.kernel == "latency alu"]
    assert [(each.status, each.cycles) for each in failed] == [("wrong", None)]


def test_work_that_overlaps_is_told_from_work_in_order(bench):
    assert bench("emulated:x60").measure("adds behind a division") > 35
    assert bench("emulated:x100").measure("adds behind a division") < 30


def test_what_was_not_measured_is_left_empty():
    core = core_of_bundle(bundle_of(Readings([reading("throughput v_int e32 m1")])), None)
    rows = {line[:26].strip(): line[26:].split() for line in cost_table_text(core).splitlines()}
    assert rows["v_int"] == ["1", "0.0%"]
    assert rows["dram_read"] == []
    assert rows["L2 in KiB"] == []
    assert core.table.cycles("dram_read") == 14.3  # assumed
    with pytest.raises(CommandError, match="nothing was measured"):
        core_of_bundle(bundle_of(Readings([reading("throughput v_int e32 m1", None)])), None)


def test_a_bundle_is_imported_as_a_core(boards, tmp_path, capsys):
    importer = importlib.import_module("engine.import")
    path = tmp_path / "desk.calibration.json"
    readings = Readings([reading("throughput v_int e32 m1", 38400.0)])
    write_bundle(path, bundle_of(readings, device="desk\n[ssh]"))
    assert importer.main([str(path)]) == 0
    assert "emulated:mine" in capsys.readouterr().out
    text = (boards / "mine.toml").read_text()
    assert "2026-11-22" in text
    assert "measured on desk?[ssh]" in text
    table = read_board_file("mine", boards).emulation.costs
    assert table["vector"]["v_int"]["occupancy"][3] == 3.0
    with pytest.raises(CommandError, match="already"):
        importer.main([str(path)])
    with pytest.raises(CommandError, match="two of the bundles would make other"):
        importer.main([str(path), str(path), "--write", "other"])
    assert importer.main([str(path), "--write", "other", "--like", "x100"]) == 0
    assert read_board_file("other", boards).emulation.costs["out_of_order"]


@pytest.mark.parametrize(
    "change",
    [
        {"vlen_bits": 100},
        {"readings": [{"kernel": "nothing"}]},
        {"frequency_hz": "fast"},
        {"provenance": 3},
    ],
)
def test_a_damaged_bundle_is_one_sentence(tmp_path, change):
    path = tmp_path / "desk.json"
    write_bundle(path, bundle_of(Readings([reading("throughput v_int e32 m1")])))
    assert read_bundle(path).readings.cycles("throughput v_int e32 m1") == 1.0
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(CommandError, match="damaged bundle"):
        read_bundle(path)


def test_mistakes_are_found_before_anything_is_measured(boards, tmp_path):
    (boards / "taken.toml").write_text("")
    for words, message in (
        (["--write", "taken"], "already"),
        (["--device", "host"], "not: name an emulated core"),
        (["--out", str(tmp_path / "none" / "x.json")], "there is no folder"),
        (["--device", "emulated:nobody"], "no emulated core"),
        (["--like", "nothing"], "no emulated core"),
    ):
        with pytest.raises(CommandError, match=message):
            main(["calibrate", *words])


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_product_takes_as_long_on_the_core_that_was_found(boards, tmp_path):
    (boards / "hidden.toml").write_text(hidden_core(read_board_file("a100")))
    words = ["calibrate", "--device", "emulated:hidden", "--write", "found", "--like", "a100"]
    assert main([*words, "--out", str(tmp_path / "bundle.json")]) == 0
    hidden, found = (read_board_file(name, boards) for name in ("hidden", "found"))
    tables = [read_cost_table(COST_TABLE, 1024, each.emulation.costs) for each in (hidden, found)]
    off = {c.name: c.value(tables[1]) / c.value(tables[0]) - 1 for c in CHANGES}
    assert {name: error for name, error in off.items() if abs(error) > 0.1} == {}
    cycles = [
        json.loads(
            subprocess.run(
                [sys.executable, "-m", "engine.measure", "matmul", "--json", "--device", device],
                check=True,
                capture_output=True,
                env=os.environ,
            ).stdout
        )["counters"]["u_mode_cycle"]
        for device in ("emulated:hidden", "emulated:found")
    ]
    assert cycles[1] == pytest.approx(cycles[0], rel=0.05)
