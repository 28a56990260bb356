"""What it costs to run one board's winner on another, from studies and from measurements."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from pathlib import Path

import pytest

from engine import regret
from engine.regrets.times import BoardTimes
from engine.study.identity import StudyIdentity
from engine.study.storage import open_study
from engine.winners.lookup import wanted
from foundation.config import Config
from foundation.errors import UserError
from search_spaces import vector_add
from search_spaces.space import Parameter, SearchSpace

SPACE = SearchSpace((Parameter("BLOCK_SIZE", (8, 16, 32)),))
A, B, C = "emulated:x60", "emulated:c908", "emulated:x100"


def _store(storage: Path, device: str, times_s: Mapping[int, float]) -> None:
    made_with = wanted("vector_add", {"N": 64}, None, device).made_with
    identity = StudyIdentity("vector_add", {"N": 64}, "fp32", device, "auto", made_with)
    trials = open_study(str(storage), identity, SPACE)
    for block, time_s in times_s.items():
        number = trials.start(Config({"BLOCK_SIZE": block}), SPACE, {})
        trials.finish(number, time_s, "correct", {"estimated": True})


@pytest.fixture
def words(monkeypatch, tmp_path) -> list[str]:
    """Arguments for studies in a storage of the test's own."""
    monkeypatch.setattr(vector_add, "space", lambda problem, board: SPACE)
    out = str(tmp_path / "out")
    return ["vector_add", "--storage", str(tmp_path / "tuner.journal"), "--out", out]


def _rows(tmp_path: Path) -> dict[tuple[str, str], dict[str, str]]:
    with (tmp_path / "out" / "regret.csv").open() as file:
        return {(row["winner_on"], row["device"]): row for row in csv.DictReader(file)}


def test_regrets_come_from_studies_that_hold_the_times(words, tmp_path, capsys):
    storage = tmp_path / "tuner.journal"
    _store(storage, A, {8: 1e-6, 16: 2e-6, 32: 1.5e-6})
    _store(storage, B, {8: 3e-6, 16: 1e-6, 32: 1.25e-6})
    _store(storage, C, {8: 4e-6, 16: 8e-6, 32: 2e-6})
    assert regret.main([*words, "--device", f"{A},{B},{C}"]) == 0
    rows = _rows(tmp_path)
    assert {key: round(float(row["regret"]), 3) for key, row in rows.items()} == {
        **{(A, A): 0, (A, B): 2, (A, C): 1},
        **{(B, A): 1, (B, B): 0, (B, C): 3},
        **{(C, A): 0.5, (C, B): 0.25, (C, C): 0},
    }
    assert {row["from"] for row in rows.values()} == {"study"}
    shown = capsys.readouterr().out
    assert "least worst: BLOCK_SIZE=32 (at most 50% slower)" in shown
    assert "least geometric mean: BLOCK_SIZE=32 (23% slower)" in shown
    assert "estimated" in shown
    assert "Plotly.newPlot('figure0'" in (tmp_path / "out" / "regret.html").read_text()


def test_what_no_study_holds_is_measured(words, tmp_path):
    storage = tmp_path / "tuner.journal"
    _store(storage, A, {16: 1e-6})
    _store(storage, B, {32: 1e-6, 8: 2e-6})
    assert regret.main([*words, "--device", f"{A},{B}"]) == 0
    rows = _rows(tmp_path)
    assert {key: row["from"] for key, row in rows.items()} == {
        **{(A, A): "study", (A, B): "measured"},
        **{(B, A): "measured", (B, B): "study"},
    }
    assert all(0 < float(row["time_s"]) < 1e-3 for row in rows.values())


def test_what_cannot_be_compared(words, tmp_path):
    _store(tmp_path / "tuner.journal", A, {16: 1e-6})
    with pytest.raises(UserError, match="give several boards with --device"):
        regret.main([*words, "--device", A])
    with pytest.raises(UserError, match=f"engine.tune vector_add --device {B}"):
        regret.main([*words, "--device", f"{A},{B}"])


def test_a_winner_that_fails_elsewhere_loses_to_any_that_runs():
    fast, sure = Config({"BLOCK_SIZE": 8}), Config({"BLOCK_SIZE": 16})
    times_s = {fast: {A: 1.0, B: math.inf}, sure: {A: 3.0, B: 2.0}}
    times = BoardTimes("problem", {A: fast, B: sure}, times_s, False, frozenset())
    assert times.regret(fast, B) == math.inf
    assert times.least(times.worst) == times.least(times.mean) == sure
    assert times.worst(sure) == 2
