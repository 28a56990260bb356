"""A run says on which inputs a configuration relies that the check finds wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_here import run_here

from engine.run.request import SearchOptions, TuningRequest, WorkOptions
from engine.run.tuning import tune

FILE = Path(__file__).parents[1] / "kernels" / "written_for_whole_blocks.py"
NOTE = "WHOLE=1,BLOCK=16 is right with length_ptr as arguments makes it, and wrong as the check "


def test_a_run_names_them(tmp_path, monkeypatch, workers_here):
    monkeypatch.chdir(tmp_path)
    search, work = SearchOptions(trials=2), WorkOptions(jobs=1)
    result = tune(TuningRequest(str(FILE), devices=("host",), search=search, work=work), [])
    assert result.summary.statuses == {"correct": 1, "wrong": 1}
    assert [note for note in result.notes if note.startswith(NOTE)]


@pytest.mark.long
def test_a_measurement_names_them(tmp_path, workers_here):
    one = ("--config", "WHOLE=1,BLOCK=16", "--device", "host")
    measured = run_here(tmp_path, "measure", str(FILE), *one)
    assert measured.returncode == 1
    assert f"note: {NOTE}" in measured.stderr
