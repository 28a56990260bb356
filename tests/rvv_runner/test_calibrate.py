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
from rvv_runner.calibration.memory_fit import fit_memory
from rvv_runner.calibration.memory_kernels import WAY_STRIDE
from rvv_runner.calibration.plan import all_kernels, measure_memory
from rvv_runner.calibration.readings import Reading, Readings
from rvv_runner.devices import load_board
from rvv_runner.emulated.board import EmulatedBoard
from rvv_runner.emulated.costs import read_cost_table

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "boards"))

from hidden_cores import CHANGES, Change, hidden_core

COST_TABLE = Path(__file__).parents[2] / "rvv_runner" / "emulated" / "x60_costs.toml"
CLASSES = ("v_int", "v_fma")
LARGEST_BYTES = 8 << 20
# What micro-kernels of memory and of two classes are enough for.
FOUND = [
    change
    for change in CHANGES
    if change.part in ("memory", "branches") or change.name.partition("/")[0] in CLASSES
]

# Random numbers take longer there than the stores whose places they say.
SLOW_MULTIPLY = Change("scalar", "multiply/latency", 2.4)


@pytest.fixture
def boards(tmp_path, monkeypatch) -> Path:
    """The folder of the user's board files."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "config" / "triton-rvv-tuner" / "boards"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def bench(tmp_path):
    """Makes a bench of a board's micro-kernels; the second argument changes them."""

    def make(device: str | EmulatedBoard, change=lambda kernel: kernel) -> Bench:
        board = load_board(device) if isinstance(device, str) else device
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


def chase_reading(kernel: str, count: int, cycles: float, stride: int = 0) -> Reading:
    parameters = {"iterations": 100, "count": count, "stride": stride}
    return Reading(kernel, parameters, 1, "correct", 100 * cycles)


def way_readings(ways: int | None) -> list[Reading]:
    """Chases of which those beyond so many ways miss."""
    cycles = {count: 3.0 if count <= (ways or 0) else 9.0 for count in range(2, (ways or 0) + 2)}
    return [chase_reading("chase", count, each, WAY_STRIDE) for count, each in cycles.items()]


@pytest.mark.long
def test_a_hidden_cores_constants_are_found_from_anothers_table(boards, bench):
    like = read_board_file("x60")
    (boards / "hidden.toml").write_text(hidden_core(like, [*FOUND, SLOW_MULTIPLY]))
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


def test_cycles_are_all_counted_or_all_of_the_clock(bench, monkeypatch):
    """Of a board whose counters are silent now and then, and whose calls vary."""
    board = load_board("emulated:x60")
    board.open()
    measure = board.measure
    counts = iter([5000.0, 700.0, None, 800.0, 900.0, None, 850.0])

    def silent(artifact, repeats, timeout_s):
        measured = measure(artifact, repeats, timeout_s)
        count = next(counts)
        counters = {} if count is None else {"u_mode_cycle": count}
        return dataclasses.replace(measured, counters=counters)

    monkeypatch.setattr(board, "_info", dataclasses.replace(board.info, deterministic=False))
    monkeypatch.setattr(board, "measure", silent)
    measured = bench(board)
    assert measured.measure("latency alu") is None
    assert measured.measure("latency multiply") is None
    assert [(each.kernel, each.reason) for each in measured.readings.left_out()] == [
        ("latency alu", "u_mode_cycle was not counted"),
        ("latency multiply", "it took no longer than a call of nothing"),
    ]


def test_random_loads_that_cost_less_than_nothing_are_no_fault():
    """A reading below that of a hit, as noise makes it, is where the fit starts."""
    lines = {256: 3.0, 512: 3.0, 1024: 10.0}
    loads = {2048: 3.5, 4096: 3.5, 8192: 9.0, 16384: 60.0, 32768: 90.0, 65536: 110.0}
    each = [chase_reading("chase", count, cycles, 64) for count, cycles in lines.items()]
    each += [chase_reading("random loads", count, cycles) for count, cycles in loads.items()]
    fit = fit_memory(Readings(each), 256)
    assert fit.l1d_bytes == 32 << 10
    assert fit.constants["memory"]["dram_random"].value > 90


def test_what_l2_keeps_of_a_large_array_makes_no_faster_dram():
    lines = {256: 3.0, 512: 3.0, 1024: 10.0}
    each = [chase_reading("chase", count, cycles, 64) for count, cycles in lines.items()]
    kept = 1 << 17
    large = {count: kept * 5.0 + (count - kept) * 25.0 for count in (1 << 18, 1 << 19)}
    streams = {256: 256 * 2.0, 4096: 4096 * 5.0, **large}
    each += [chase_reading("read stream", count, cycles) for count, cycles in streams.items()]
    fit = fit_memory(Readings(each), 256)
    assert fit.constants["memory"]["dram_read"].value == pytest.approx(25)


@pytest.mark.parametrize(("ways", "said"), [(None, "12 # assumed"), (6, "6 # measured")])
def test_a_cache_of_three_times_a_power_of_two(ways, said):
    bundle = dataclasses.replace(
        bundle_of(Readings([reading("throughput v_int e32 m1"), *way_readings(ways)])),
        l1d_bytes=48 << 10,
        l2_bytes=3 << 20,
    )
    core = core_of_bundle(bundle, None)
    assert f"l1d_ways = {said}" in core.text
    assert "l2_ways = 48 # assumed" in core.text
    assert core.table.parameters["l2_sets"] == 1024


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
    (boards / "1.2.3.4-measured.toml").write_text("")
    for words, message in (
        (["--device", "ssh://me@1.2.3.4:22"], "4-measured.toml already"),
        (["--device", "emulated:x60@cold"], "name emulated:x60, not"),
        (["--write", "taken"], "already"),
        (["--device", "host"], "not: name an emulated core"),
        (["--out", str(tmp_path / "none" / "x.json")], "there is no folder"),
        (["--device", "emulated:nobody"], "no emulated core"),
        (["--like", "nothing"], "no emulated core"),
    ):
        with pytest.raises(CommandError, match=message):
            main(["calibrate", *words])


@pytest.mark.long
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
