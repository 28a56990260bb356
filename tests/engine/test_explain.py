"""Why a winner won: causes that add up, lines of the kernel, and what cannot be explained."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from engine.explain import main
from engine.explained.explained import SPILLS, Explained
from engine.explained.tables import print_explained
from engine.run.identity import identity_of
from engine.study.storage import open_study
from foundation.config import Config
from foundation.console import EscapingConsole
from foundation.errors import UserError
from kernels.registry import load_kernel, make_problem
from rvv_runner.board import BoardInfo
from rvv_runner.board_file import read_board_file
from rvv_runner.emulated.board import EmulatedBoard
from rvv_runner.measurement import Measurement
from triton_rvv.codegen.line_table import SourceLine
from triton_rvv.lowering import LineAccess

ACCESSES = (
    LineAccess("k.py:3", False, "contiguous", False, "%x + i0"),
    LineAccess("k.py:3", False, "gathered", True, "%x + %at"),
    LineAccess("k.py:4", False, "gathered", True, "%y + %at"),
)
NAMES = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M")
WINNER, DEFAULT = (32, 32, 32, 1), (16, 16, 16, 8)
SHAPE = {"M": 32, "N": 32, "K": 32}
OWN_KERNEL = """
import triton
import triton.language as tl

@triton.jit
def copy_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at))

def get_copy_kernel_autotune_config():
    return [triton.Config({"BLOCK": 8})]

def arguments(N=8):
    import torch
    return {"x_ptr": torch.randn(N), "y_ptr": torch.empty(N)}

def grid(meta):
    return (1,)
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A study of a small product, with made-up times; the commands run in its folder."""
    monkeypatch.chdir(tmp_path)
    return a_study(EmulatedBoard(read_board_file("x60")).info, {"u_mode_cycle": 1.0})


def a_study(info: BoardInfo, counters: Mapping[str, float]) -> str:
    """One of which the default takes twice the winner's time, and four times as many of all events
    but instructions."""
    problem = make_problem(load_kernel("matmul"), SHAPE)
    identity = identity_of(problem, info, "grid")
    space = problem.space(info)
    trials = open_study("study.journal", identity, space)
    more = {
        event: count * (1 if event == "instructions" else 4) for event, count in counters.items()
    }
    for values, time_s, counted, wall_s in (
        (DEFAULT, 2e-3, more, {"wall_s": 1.0}),
        (WINNER, 1e-3, counters, {}),
    ):
        config = Config(dict(zip(NAMES, values, strict=True)))
        about = {"board": info.name, "estimated": info.estimated, "counters": counted}
        trials.finish(trials.start(config, space, {}), time_s, "correct", {**about, **wall_s})
    return identity.name


def test_the_causes_and_lines_of_a_winner(study, capfd):
    assert main([study, "--storage", "study.journal"]) == 0
    text = capfd.readouterr().out
    assert "causes account for 100.0% of the winner's cycles" in text
    found = re.search(r"the line with the most: matmul\.py:(\d+): (.*) \((\d+)%", text)
    kernel = Path(load_kernel("matmul").kernel.fn.__code__.co_filename).read_text().splitlines()
    line = kernel[int(found[1]) - 1].strip()
    assert "tl.dot" in line
    assert line.startswith(found[2].removesuffix("..."))
    assert int(found[3]) > 30
    assert "runner-up" in text
    assert "estimated, ±" in text
    assert re.search(r"vector .*a vector unit or its result", text)
    assert "note: the study has 1 cycles for the winner" in text


def test_of_a_real_board_its_counters_are_shown(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    info = read_board_file("x60").info("desk")
    name = a_study(info, {"l2_miss": 7.0, "instructions": 500.0, "u_mode_cycle": 1000.0})
    assert main([name, "--storage", "study.journal"]) == 0
    text = capfd.readouterr().out
    rows = [line.split() for line in text.splitlines() if "x" in line and "_" in line]
    assert ["l2_miss", "7", "1.00x", "28", "4.00x"] in rows
    assert "the runner-up takes 4.00 times the winner's cycles: 1.00 times the instructions" in text
    assert "at 4.00 times the cycles each" in text
    assert "x60 is not emulated, and its counters do not say what each cycle was spent on" in text
    assert "add --device emulated:x60" in text


def test_a_board_that_counted_nothing_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = a_study(read_board_file("x60").info("desk"), {})
    with pytest.raises(UserError, match="has times and no counters: add --device emulated:x60"):
        main([name, "--storage", "study.journal"])


def test_what_cannot_be_explained_is_one_sentence(study):
    trials = ["--storage", "study.journal"]
    with pytest.raises(UserError, match=r"host is not emulated: add --device emulated "):
        main([study, *trials, "--device", "host"])
    Path("own.py").write_text(OWN_KERNEL)
    with pytest.raises(UserError, match=r"own\.py holds copy, and matmul-.* is about matmul"):
        main([study, *trials, "--kernel", "own.py"])
    with pytest.raises(UserError, match="there is no study"):
        main(["other", *trials])
    with pytest.raises(UserError, match=f"STUDY is missing: choose {study}"):
        main(trials)


def test_a_difference_names_its_largest_causes():
    def one(label, **causes):
        lines = {SourceLine("k.py", 3): causes}
        measurement = Measurement(status="correct", reason="")
        total = sum(causes.values())
        return Explained(label, Config({"B": 1}), measurement, total, causes, lines, ACCESSES)

    console = EscapingConsole(width=120, record=True, file=io.StringIO())
    print_explained(
        [one("winner", dram=100, vector=50), one("default", dram=700, vector=50, spills=200)],
        "estimated",
        console,
    )
    text = console.export_text()
    assert f"the default takes 800 cycles more (+533.3%): dram +600, {SPILLS} +200" in text
    assert re.findall(r"k.py:3: +loads from (.*)", text) == ["%x + %at (gathered)"]
    assert "%y" not in text


@pytest.mark.parametrize(("width", "beside"), [(80, False), (135, True)])
def test_a_source_line_takes_one_row_in_any_width(tmp_path, width, beside):
    source = "total += tl.dot(tl.load(a_ptrs), tl.load(b_ptrs))"
    (tmp_path / "long_name.py").write_text(f"{source}\n")
    causes = {"dram": 8e6, "vector": 1.5e7}
    lines = {SourceLine(str(tmp_path / "long_name.py"), 1): causes}
    measurement, config = Measurement(status="correct", reason=""), Config({"B": 1})
    explained = [
        Explained(label, config, measurement, 2.3e7, causes, lines)
        for label in ("winner", "runner-up", "default")
    ]
    console = EscapingConsole(width=width, record=True, file=io.StringIO())
    print_explained(explained, "estimated, ±17%", console)
    rows = [row.strip() for row in console.export_text().splitlines()]
    shown = f"long_name.py:1: {source}"
    assert (shown in rows) != beside
    first = shown if beside else "long_name.py:1"
    assert [row for row in rows if row.startswith(f"{first}  ") and row.endswith("vector")]


@pytest.mark.parametrize("board", ["emulated:x60", "emulated:x60@4cores"])
def test_cycles_of_several_cores_are_called_so(board: str) -> None:
    measurement = Measurement(status="correct", reason="", board=board)
    lines = {SourceLine("k.py", 1): {"vector": 9.0}}
    one = Explained("winner", Config({"B": 1}), measurement, 9.0, {"vector": 9.0}, lines)
    console = EscapingConsole(width=120, record=True, file=io.StringIO())
    print_explained([one], "estimated", console)
    shown = " ".join(console.export_text().split())
    heading = "Cycles of all cores" if "4cores" in board else "Cycles"
    assert f"{heading} by cause (" in shown
    assert f"{heading} by source line (" in shown
