"""Several shapes in one command: a study each, or one for all of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import pytest

import engine.tune as tune_command
from engine import measure

pytestmark = pytest.mark.usefixtures("workers_here")

Command = Callable[..., tuple[Any, str]]


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Runs a command in a folder of the test's; its JSON, and what it said meanwhile."""
    monkeypatch.chdir(tmp_path)

    def run(main: Callable[[list[str]], int], *arguments: str) -> tuple[Any, str]:
        assert main(["vector_add", *arguments, "--json"]) == 0
        printed = capsys.readouterr()
        return json.loads(printed.out), printed.err

    return run


@pytest.mark.long
def test_the_second_shape_begins_with_what_the_first_found(command: Command) -> None:
    shapes = ["--shape", "N=2048", "--shape", "N=4096"]
    record, progress = command(tune_command.main, *shapes, "--trials", "6", "--jobs", "1")
    first, second = record["results"]
    assert first["shape"] == {"N": 2048}
    assert first["warm_started_from"] is None
    assert second["shape"] == {"N": 4096}
    assert second["warm_started_from"] == first["study"]
    asked = [line for line in progress.splitlines() if line.startswith("trial=")][6:]
    configs = [dict(field.split("=", 1) for field in line.split("\t"))["config"] for line in asked]
    best = next(t for t in first["best"] if t["config"] != first["default"]["config"])
    assert configs[1] == f"BLOCK_SIZE={best['config']['BLOCK_SIZE']}"


def test_together_they_are_one_study_with_one_winner(command: Command) -> None:
    shapes = ["--shape", "N=2048", "--shape", "N=4096", "--together"]
    record, _ = command(tune_command.main, *shapes, "--trials", "2", "--jobs", "1")
    winner = record["winner"]
    assert [entry["shape"] for entry in record["shapes"]] == [{"N": 2048}, {"N": 4096}]
    times_s = [entry["winner_s"] for entry in record["shapes"]]
    assert winner["time_s"] == pytest.approx(geometric_mean(times_s))
    assert winner["time_s"] <= record["default"]["time_s"]
    config = f"BLOCK_SIZE={winner['config']['BLOCK_SIZE']}"
    alone, _ = command(measure.main, "--shape", "N=4096", "--config", config)
    assert alone["times_s"] == [times_s[1]]

    swapped = ["--shape", "N=4096", "--shape", "N=2048", "--together"]
    again, _ = command(tune_command.main, *swapped, "--trials", "2", "--jobs", "1")
    assert again["study"] == record["study"]
    assert again["measured_in_this_run"] == 0
    assert again["shapes"] == record["shapes"]
