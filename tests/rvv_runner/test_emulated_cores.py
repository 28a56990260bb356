"""Emulated cores described by tables: the packaged ones, and one made of a results page."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import rvv_runner
from foundation.errors import CommandError
from rvv_runner.__main__ import main
from rvv_runner.board import BoardError
from rvv_runner.board_file import read_board_file
from rvv_runner.cores.fit_table import ClassThroughput, class_throughputs, entries_of
from rvv_runner.cores.results_page import read_instructions
from rvv_runner.devices import board_names, load_board
from rvv_runner.emulated.costs import read_cost_table

BOARDS = Path(rvv_runner.__file__).parent / "boards"
COST_TABLE = BOARDS.parent / "emulated" / "x60_costs.toml"
CORES = [path for path in BOARDS.glob("*.toml") if "emulation.costs" in path.read_text()]

# Throughputs that no packaged core has.
PAGE = """<table id="tblMaa"><tr><th>instruction</th><th>e32m1</th><th>e32m2</th></tr>
<tr><td>add t0,t1,t2</td><td>0.25</td><td>0.25</td></tr>
<tr><td>vadd.vv v8,v16,v24</td><td>3.0</td><td>7.0</td></tr>
<tr><td>vadd.vv v8,v16,v24,v0.t</td><td>6.0</td><td>14.0</td></tr>
<tr><td>vlse32.v v8,(t2),t3</td><td>11.0</td><td>22.0</td></tr></table>
<script>bench({title: "memset aligned", labels: ["0","rvv_m1"], data: [[1024,16777216],[64,4]]})
bench({title: "utf8 count aligned", labels: ["0","rvv_m1"], data: [[1024,16777216],[64,2]]})
</script>
"""
# Floating point in the second table alone; moves that show their latency in groups.
TWO_TABLES = """<table id="tblMaa"><tr><th>instruction</th><th>e32m1</th><th>e32m8</th></tr>
<tr><td>vfadd.vv v8,v16,v24</td><td></td><td></td></tr>
<tr><td>vfadd.vv v8,v16,v24,v0.t</td><td></td><td></td></tr>
<tr><td>vmv.s.x v8,t0</td><td>1.0</td><td>4.0</td></tr></table>
<table id="tblMau"><tr><th>instruction</th><th>e32m1</th><th>e32m8</th></tr>
<tr><td>vfadd.vv v8,v16,v24</td><td>3.0</td><td>24.0</td></tr>
<tr><td>vfadd.vv v8,v16,v24,v0.t</td><td>6.0</td><td>48.0</td></tr></table>
"""
_COPIES = 128
SLOW = "divu t1, t1, a0\n" * 4


@pytest.fixture
def cycles_of(run_regions) -> Callable[..., list[float]]:
    """The estimated cycles of each body on the emulated core called `name`."""

    def run(name: str, *bodies: str, before: str = "") -> list[float]:
        regions = run_regions(*((before, body) for body in bodies), device=f"emulated:{name}")
        return [region.cycles for region in regions]

    return run


@pytest.mark.parametrize("path", CORES, ids=[path.stem for path in CORES])
def test_every_figure_of_a_packaged_core_has_a_source(path):
    assert path.stem in ("a100", "ascalon", "c908", "c920v2", "x100", "x60-ime")
    section, unsourced = "", []
    for line in path.read_text().splitlines():
        section = line if line.startswith("[") else section
        in_class = re.match(r"\[emulation\.costs\.(scalar|vector|out_of_order)", section)
        if " = " in line and not line.startswith("#") and not in_class and "#" not in line:
            unsourced.append(line)
    assert unsourced == []
    costs = tomllib.loads(path.read_text())["emulation"]["costs"]
    parts = ("scalar", "vector", "vector_memory")
    entries = [entry for part in parts for entry in costs.get(part, {}).values()]
    entries += [costs["out_of_order"]] if "out_of_order" in costs else []
    assert all(re.search("rvv-bench|LLVM|ISCA|assumed", entry["source"]) for entry in entries)


def test_the_packaged_cores_rank_a_product_of_registers_as_their_tables_do(cycles_of):
    body = "\n".join(f"vfmacc.vv v{8 + 4 * (i % 6)}, v4, v4" for i in range(_COPIES))
    start = "vsetvli t0, x0, e32, m4, ta, ma"
    for name, each in (("x60", 4), ("a100", 8), ("c920v2", 2), ("ascalon", 2)):
        (cycles,) = cycles_of(name, body, before=start)
        assert cycles / _COPIES == pytest.approx(each, rel=0.1)


def test_a_page_gives_each_instruction_from_the_table_that_has_it(tmp_path):
    (tmp_path / "index.html").write_text(TWO_TABLES)
    classes = class_throughputs(read_instructions(tmp_path / "index.html"))
    assert classes["v_fp"].cycles == {(32, "m1"): 3, (32, "m8"): 24}
    assert classes["v_fp"].masked == {}
    assert classes["v_scalar_move"].cycles == {(32, "m1"): 1, (32, "m8"): 1}


def test_a_larger_group_is_not_assumed_to_have_its_first_register_sooner():
    base = {"unit": "vfp", "latency": [4, 4, 4, 4, 4, 5, 8], "occupancy": [1, 1, 1, 1, 2, 4, 8]}
    fast = ClassThroughput({(32, f"m{group}"): group / 2 for group in (1, 2, 4, 8)}, {})
    table = {"vector": {"v_int": base}, "vector_memory": {}}
    entry = entries_of({"v_int": fast}, table, "measured", "another")["vector"]["v_int"]
    assert entry["latency"] == [4, 4, 4, 4, 4, 5, 5]


@pytest.mark.parametrize("factors", ["[1, 1, 2]", "[1, 1, 1, 1, 1, 1, 0.5]"])
def test_factors_of_masks_are_one_for_each_group(factors, tmp_path):
    text = COST_TABLE.read_text().replace("masked = 2", f"masked = {factors}", 1)
    (tmp_path / "costs.toml").write_text(text)
    with pytest.raises(ValueError, match="v_int needs masked as a factor of 1 or more for each"):
        read_cost_table(tmp_path / "costs.toml", 256)


def test_a_cache_with_one_way_loses_a_line_to_the_next_in_its_set(cycles_of, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    boards = tmp_path / "config" / "triton-rvv-tuner" / "boards"
    boards.mkdir(parents=True)
    costs = "\n[emulation.costs]\nvlen_bits = 256\nmemory = { l1d_sets = 512, l1d_ways = 1 }\n"
    (boards / "one-way.toml").write_text((BOARDS / "x60.toml").read_text() + costs)
    in_turn = "li t0, 32768\nadd t1, a0, t0\n" + "ld t2, (a0)\nld t2, (t1)\n" * 50
    four_ways, one_way = (cycles_of(name, in_turn)[0] for name in ("x60", "one-way"))
    assert one_way > 2 * four_ways


@pytest.mark.parametrize(
    ("size", "sets", "message"),
    [
        (
            8192,
            128,
            "l1d_bytes is 8192, and .* l1d_ways and line_b.* make 32768: .*l1d_sets = 32",
        ),
        (
            32768,
            32,
            "l1d_bytes is 32768, and .* l1d_ways and line_b.* make 8192: .*l1d_sets = 128",
        ),
        (8192, 32, ""),
    ],
)
def test_a_core_of_ones_own_has_the_cache_that_its_file_says(
    size, sets, message, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    boards = tmp_path / "config" / "triton-rvv-tuner" / "boards"
    boards.mkdir(parents=True)
    costs = f"[emulation.costs.memory]\nl1d_sets = {sets}\n"
    (boards / "small.toml").write_text(f'kind = "x60"\nl1d_bytes = {size}\n{costs}')
    if message:
        with pytest.raises(BoardError, match=message):
            load_board("emulated:small")
        return
    assert load_board("emulated:small").info.kind != load_board("emulated:x60").info.kind
    advice = "add the section .ssh. with its host, or put it into .* give --device emulated:small"
    with pytest.raises(BoardError, match=advice):
        load_board(str(boards / "small.toml"))


def test_an_out_of_order_core_goes_on_beside_what_waits(cycles_of):
    others = "\n".join(f"addi t{2 + i % 4}, x0, 1" for i in range(60))
    bodies = (SLOW, f"{SLOW}addi t1, t1, 1\n{others}", f"{SLOW}divu t1, t1, t1")
    alone, together, dependent = cycles_of("x100", *bodies)
    assert together < alone + 5
    assert dependent >= alone + 20
    alone, together, _ = cycles_of("x60", *bodies)
    assert together > alone + 25


def test_a_window_that_is_full_holds_up_what_follows(cycles_of):
    others = "\n".join(f"addi t{2 + i % 4}, x0, 1" for i in range(400))
    alone, behind = cycles_of("x100", others, f"{SLOW}{others}")
    assert behind > alone + 20


def test_vectors_in_order_wait_for_those_before_them(cycles_of):
    """On the X100, a compare waits while a count of bits before it waits for its own compare."""
    pair = "vmsgt.vx v{v}, v4, t3\nvcpop.m t{t}, v{v}\n"
    body = "".join(pair.format(v=8 + n % 8, t=4 + n % 2) for n in range(32))
    waits, overlaps = (
        cycles_of(name, body, before="vsetvli t0, x0, e8, m1, ta, ma")[0] / 32
        for name in ("x100", "c920v2")
    )
    assert waits > 9.5  # 6 of the count and 4 of the compare
    assert overlaps < 9


def test_a_core_is_made_of_a_results_page(cycles_of, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    pages = tmp_path / "some_core"
    pages.mkdir()
    (pages / "index.html").write_text(PAGE)
    (pages / "memory.html").write_text(PAGE)
    words = [
        "core",
        str(pages),
        "--write",
        "mine",
        "--vlen-bits",
        "256",
        "--frequency-hz",
        "2000000000",
    ]
    assert main(words) == 0
    assert "emulated:mine" in capsys.readouterr().out
    assert "emulated:mine" in board_names()
    info = load_board("emulated:mine").info
    assert (info.vlen_bits, info.frequency_hz) == (256, 2e9)

    adds = "\n".join(f"vadd.vv v{8 + 2 * (i % 8)}, v2, v4" for i in range(_COPIES))
    masked = adds.replace("v4\n", "v4, v0.t\n") + ", v0.t"
    bodies = (adds, masked)
    m2 = cycles_of("mine", *bodies, before="vsetvli t0, x0, e32, m2, ta, ma")
    assert m2[0] / _COPIES == pytest.approx(7.0, rel=0.05)
    assert m2[1] / _COPIES == pytest.approx(14.0, rel=0.05)

    board_file = read_board_file("mine", tmp_path / "config" / "triton-rvv-tuner" / "boards")
    assert board_file.emulation is not None
    table = read_cost_table(
        BOARDS.parent / "emulated" / "x60_costs.toml", 256, board_file.emulation.costs
    )
    assert table.cycles("dram_write") == 16
    assert table.cycles("dram_read") == 32
    assert table.classes["v_load_strided"].occupancy[32][3:5] == (11, 22)
    assert main(["check", "emulated:mine"]) == 0
    assert "unchecked" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--write", "mine", "--vlen-bits", "256"], "no table of instructions"),
        (["--write", "no/name", "--vlen-bits", "256"], "not a name for a board"),
        (["--write", "mine", "--vlen-bits", "256", "--like", "nothing"], "emulated:x60"),
    ],
)
def test_what_no_core_can_be_made_of(words, told, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "index.html").write_text("<html></html>")
    with pytest.raises(CommandError, match=told):
        main(["core", str(tmp_path), "--frequency-hz", "1000000000", *words])


def test_a_wrong_name_names_the_cores():
    with pytest.raises(BoardError, match=r"no emulated core named emulated:c909: .*emulated:c908"):
        load_board("emulated:c909")
