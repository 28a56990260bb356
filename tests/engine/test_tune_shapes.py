"""Several shapes in one command: a study each, or one for all of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import geometric_mean

import pytest

pytestmark = pytest.mark.timeout(200)


def command(folder: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", f"engine.{program}", "vector_add", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_the_second_shape_begins_with_what_the_first_found(tmp_path: Path) -> None:
    shapes = ["--shape", "N=2048", "--shape", "N=4096"]
    done = command(tmp_path, "tune", *shapes, "--trials", "6", "--json")
    first, second = json.loads(done.stdout)["results"]
    assert first["shape"] == {"N": 2048}
    assert first["warm_started_from"] is None
    assert second["shape"] == {"N": 4096}
    assert second["warm_started_from"] == first["study"]
    asked = [line for line in done.stderr.splitlines() if line.startswith("trial=")][6:]
    configs = [dict(field.split("=", 1) for field in line.split("\t"))["config"] for line in asked]
    best = next(t for t in first["best"] if t["config"] != first["default"]["config"])
    assert configs[1] == f"BLOCK_SIZE={best['config']['BLOCK_SIZE']}"


def test_together_they_are_one_study_with_one_winner(tmp_path: Path) -> None:
    shapes = ["--shape", "N=2048", "--shape", "N=4096", "--together"]
    done = command(tmp_path, "tune", *shapes, "--trials", "4", "--json")
    record = json.loads(done.stdout)
    winner = record["winner"]
    assert [entry["shape"] for entry in record["shapes"]] == [{"N": 2048}, {"N": 4096}]
    times_s = [entry["winner_s"] for entry in record["shapes"]]
    assert winner["time_s"] == pytest.approx(geometric_mean(times_s))
    assert winner["time_s"] <= record["default"]["time_s"]
    config = f"BLOCK_SIZE={winner['config']['BLOCK_SIZE']}"
    alone = command(tmp_path, "measure", "--shape", "N=4096", "--config", config, "--json")
    assert json.loads(alone.stdout)["times_s"] == [times_s[1]]

    swapped = ["--shape", "N=4096", "--shape", "N=2048", "--together"]
    again = json.loads(command(tmp_path, "tune", *swapped, "--trials", "4", "--json").stdout)
    assert again["study"] == record["study"]
    assert again["measured_in_this_run"] == 0
    assert again["shapes"] == record["shapes"]
