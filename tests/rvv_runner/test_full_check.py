"""A full check: a board's page tells the models of the family apart, and narrows it."""

from __future__ import annotations

import dataclasses
import importlib
import json
import re
from pathlib import Path

import pytest

from foundation.errors import UserError
from rvv_runner.__main__ import main
from rvv_runner.board import BoardError
from rvv_runner.calibration.check_probes import PROBES
from rvv_runner.calibration.family_page import (
    Page,
    measure_page,
    models_on_page,
    read_page,
)
from rvv_runner.calibration.micro_kernel import input_bytes
from rvv_runner.calibration.nearest_model import core_text, findings, models_left, surprises
from rvv_runner.devices import emulated_board_file, load_board, on_cores
from rvv_runner.emulated.board import EmulatedBoard, cost_table_of
from rvv_runner.emulated.family import models
from rvv_runner.full_check import checked_name
from rvv_runner.measurement import Status

FAMILY = {model.name: model for model in models()}


@pytest.fixture(scope="module")
def estimated(tmp_path_factory):
    """Cycles of each probe on the emulated X60 under each model."""
    board = load_board("emulated")
    board.open()
    return models_on_page(board, tmp_path_factory.mktemp("probes"))


@pytest.fixture
def boards(tmp_path, monkeypatch) -> Path:
    """The folder of the user's board files."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "config" / "triton-rvv-tuner" / "boards"
    folder.mkdir(parents=True)
    return folder


def page_of(estimated, model: str, factor: float = 1.0) -> Page:
    """What a board would say that is as in this model, but for its speed."""
    cycles = {probe: each[model] * factor for probe, each in estimated.items()}
    return Page("x60", "desk", cycles, {})


@pytest.mark.parametrize(
    "model", ["default", "prefetch-late", "prefetch-dropped", "prefetch-ignored"]
)
def test_a_page_names_what_prefetches_do_whatever_the_boards_clock(estimated, model):
    (found,) = (
        each
        for each in findings(page_of(estimated, model, 1.4), estimated)
        if each.topic == "software prefetches"
    )
    assert found.nearest == model
    others = {"default", "prefetch-late", "prefetch-dropped", "prefetch-ignored"} - {model}
    assert set(found.ruled_out) == others


@pytest.mark.parametrize(("model", "topic"), [("wary-l2", "L2"), ("fast-dram", "DRAM")])
def test_a_page_names_what_memory_does(estimated, model, topic):
    found = {each.topic: each for each in findings(page_of(estimated, model), estimated)}
    assert found[topic].nearest == model
    assert "default" in found[topic].ruled_out


def test_a_board_that_is_like_no_model_is_said_to_be(estimated):
    slow = {each.topic: each for each in findings(page_of(estimated, "default", 2), estimated)}
    assert slow["DRAM"].is_far
    assert str(slow["DRAM"]) == ("DRAM: no model is near, default is 100% off; ruled out: none")
    assert not slow["L2"].is_far  # ratios cancel the clock


def test_pages_of_two_boards_make_two_cores():
    names = [checked_name(Page("x60", board, {}, {})) for board in ("desk", "ssh://me@10.0.0.2")]
    assert names == ["desk-checked", "10.0.0.2-checked"]


def test_a_busy_neighbour_is_never_ruled_out(estimated):
    found = findings(page_of(estimated, "default"), estimated)
    assert all("busy-neighbour" not in each.ruled_out for each in found)


def test_a_page_shows_streams_and_stores_beyond_l1d(estimated):
    """The emulated X60 follows eight streams, and takes a cycle for each strided element."""
    default = {probe: each["default"] for probe, each in estimated.items()}
    assert default["12 streams"] > 10 * default["8 streams"]
    whole, strided = "stores of whole lines in L2", "strided stores to 8 words of a line in L2"
    assert default[strided] > 1.5 * default[whole]
    page = page_of(estimated, "default")
    assert surprises(page, estimated) == []
    far_off = dataclasses.replace(page, cycles={**page.cycles, strided: 4 * default[strided]})
    (sentence,) = surprises(far_off, estimated)
    cycles = default[strided]
    assert cycles == pytest.approx(16, rel=0.1)
    assert sentence == f"{strided}: {4 * cycles:.3g} cycles, and {cycles:.3g} in the model"


def test_what_failed_on_the_board_decides_nothing(estimated):
    page = page_of(estimated, "default")
    without = {name: each for name, each in page.cycles.items() if "asked" not in name}
    found = findings(dataclasses.replace(page, cycles=without), estimated)
    assert [each.topic for each in found] == ["L2", "DRAM"]


def costs_of_narrowed(boards, found, kind: str = "x60") -> str:
    """What the plug-in gets of a core that a page of this kind makes."""
    text = core_text(kind, cost_table_of(emulated_board_file(kind)), found)
    (boards / "narrow.toml").write_text(text)
    board = load_board("emulated:narrow")
    assert isinstance(board, EmulatedBoard)
    board.open()
    return board.emulator.costs.read_text()


@pytest.mark.parametrize(
    ("model", "left"),
    [
        *((name, "busy-neighbour, slow-loads") for name in ("default", "wary-l2", "prefetch-late")),
        ("prefetch-ignored", "busy-neighbour, slow-loads"),
        ("fast-dram", "prefetch-late, busy-neighbour, slow-loads"),
    ],
)
def test_the_core_that_is_written_has_what_is_left_of_the_family(boards, estimated, model, left):
    found = findings(page_of(estimated, model), estimated)
    assert models_left(found).partition(": ")[2] == f"{model}, {left}"
    text = costs_of_narrowed(boards, found)
    names = [line.split()[1] for line in text.splitlines() if line.startswith("member")]
    assert ", ".join(names) == left
    default = cost_table_of(emulated_board_file("x60"))
    expected = FAMILY[model].table(default).plugin_text()
    assert text.partition("member")[0] == expected


def test_a_narrowed_core_keeps_the_costs_of_its_own_kind(boards, estimated):
    """The C908's board file has costs on top of the X60's."""
    found = findings(page_of(estimated, "prefetch-ignored"), estimated)
    own = cost_table_of(emulated_board_file("c908"))
    expected = FAMILY["prefetch-ignored"].table(own).plugin_text()
    assert costs_of_narrowed(boards, found, "c908").partition("member")[0] == expected


def test_a_board_that_no_model_is_near_rules_none_out(estimated):
    page = page_of(estimated, "prefetch-ignored")
    cycles = {name: each / 2 if "asked" in name else each for name, each in page.cycles.items()}
    found = findings(dataclasses.replace(page, cycles=cycles), estimated)
    assert found[0].is_far
    assert found[0].ruled_out == ()


@pytest.mark.long
def test_the_command_measures_writes_and_narrows(boards, capsys):
    assert main(["check", "emulated", "--full", "--core", "mine"]) == 0
    said = capsys.readouterr().out
    assert "software prefetches: nearest is default" in said
    assert "--device emulated:mine" in said
    page = read_page(Path("mine.check.json"))
    assert page is not None
    assert (page.name, page.board, page.reasons) == ("x60", "emulated:x60", {})
    alone = {name for name in page.cycles if ", on " not in name}
    assert alone == {probe.name for probe in PROBES}
    shared = [
        *("64 KiB of its own again", "256 KiB of its own again"),
        *("loads of lines in a row from DRAM", "stores of lines in a row to DRAM"),
        "counts in words of one line",
    ]
    cores = ("one core", "2 cores", "4 cores", "8 cores")
    assert page.cycles.keys() - alone == {
        f"{name}, on {where}" for name in shared for where in cores
    }
    # Another user imports the file, under a name that is free.
    (boards / "mine.toml").unlink()
    assert importlib.import_module("engine.import").main(["mine.check.json"]) == 0
    assert "wary-l2" in (boards / "x60-checked.toml").read_text()


def test_a_name_that_is_taken_is_refused_before_anything_is_measured(boards, capsys):
    (boards / "mine.toml").write_text('kind = "x60"\n')
    with pytest.raises(BoardError, match="there is a board file"):
        main(["check", "emulated", "--full", "--core", "mine"])
    assert "cycles a line" not in capsys.readouterr().out


@pytest.fixture
def few_turns(monkeypatch) -> None:
    """Leaves out the probes of one core of any board, and shortens the others."""
    monkeypatch.setattr("rvv_runner.calibration.family_page.PROBES", ())
    monkeypatch.setattr("rvv_runner.calibration.family_page._ITERATIONS", 1000)


def test_a_page_tells_what_cores_share_and_how_fast_their_matrix_units_are(tmp_path, few_turns):
    page = None
    for count in (1, 4):
        board = load_board(on_cores("emulated:x60-ime", count))
        board.open()
        page = measure_page(board, "x60", tmp_path, lambda line: None, page)
        estimated = models_on_page(board, tmp_path, {"vmadot, one after another"})
        assert list(estimated) == ["vmadot, one after another"] * (count == 1)
    assert page is not None
    assert page.reasons == {}
    cycles = page.cycles
    # SpacemiT, "AI Matrix Extension": one a cycle on each of four cores. The latency is assumed.
    assert cycles["vmadot, one after another"] == pytest.approx(1, rel=0.1)
    assert cycles["vmadot, one after another, on 4 cores"] == pytest.approx(1, rel=0.1)
    assert cycles["vmadot, each on the sums before"] == pytest.approx(5, rel=0.1)
    rows = "loads of lines in a row from DRAM, on"
    assert cycles[f"{rows} 4 cores"] > 2 * cycles[f"{rows} one core"]
    near = "64 KiB of its own again, on"
    assert cycles[f"{near} 4 cores"] < 1.5 * cycles[f"{near} one core"]


def test_a_unit_that_is_slower_than_the_model_is_named():
    name = "vmadot, each on the sums before"
    page = Page("x60", "desk", {name: 8.0}, {})
    (sentence,) = surprises(page, {name: {"default": 5.0}})
    assert sentence == f"{name}: 8 cycles, and 5 in the model"


def test_a_unit_that_multiplies_wrongly_gives_no_figure(tmp_path, few_turns, monkeypatch):
    """What is expected is a product of other numbers, so the emulated unit's sums are wrong."""
    others = input_bytes()[::-1].copy()
    monkeypatch.setattr("rvv_runner.calibration.matrix_probes.input_bytes", lambda: others)
    board = load_board("emulated:x60-ime")
    board.open()
    page = measure_page(board, "x60", tmp_path, lambda line: None)
    assert set(page.reasons) == {
        "vmadot, one after another",
        "vmadot, each on the sums before",
        "vmadot, a sum of bytes behind each",
        "vmadot, a load of two registers behind each",
    }
    for reason in page.reasons.values():
        assert re.match(r"\S+\[\d+\] is \S+ and should be \S+", reason)
    assert "loads of lines in a row from DRAM, on one core" in page.cycles
    assert not any(name.startswith("vmadot") for name in page.cycles)


class Failing(EmulatedBoard):
    """A board that measures nothing, or wrong outputs."""

    status: Status = "board"

    def measure(self, artifact, repeats, timeout_s):
        found = super().measure(artifact, repeats, timeout_s)
        return dataclasses.replace(
            found, status=self.status, times_s=(), models_s={}, reason="it fell over"
        )


def test_a_board_that_fails_ends_the_check_with_its_reason(boards, tmp_path, monkeypatch):
    from rvv_runner.board_file import read_board_file

    monkeypatch.setattr("rvv_runner.calibration.family_page.probes_on", lambda info: PROBES[:4])
    board = Failing(read_board_file("x60"))
    board.open()
    with pytest.raises(BoardError, match="emulated:x60 failed: it fell over"):
        measure_page(board, "x60", tmp_path, lambda line: None)
    board.status = "wrong"
    said: list[str] = []
    page = measure_page(board, "x60", tmp_path, said.append)
    assert page.cycles == {}
    assert set(page.reasons.values()) == {"it fell over"}
    assert len(said) == 4
    page.write(tmp_path / "page.json")
    with pytest.raises(BoardError, match="too few figures"):
        importlib.import_module("engine.import").main([str(tmp_path / "page.json")])


@pytest.mark.parametrize(
    "change", [{"cycles": {"far lines": -1}}, {"cycles": 3}, {"cycles": {"far lines": 1e999}}]
)
def test_a_damaged_page_is_one_sentence(tmp_path, estimated, change):
    path = tmp_path / "page.json"
    page_of(estimated, "default").write(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(UserError, match="is a damaged page of a full check"):
        read_page(path)


def test_another_file_is_no_page(tmp_path):
    (tmp_path / "other.json").write_text("{}")
    assert read_page(tmp_path / "other.json") is None
    assert read_page(tmp_path / "missing.json") is None
