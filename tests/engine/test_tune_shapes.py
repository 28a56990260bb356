"""Several shapes in one command: a study each, the second of which begins with the first's best."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(200)


def test_the_second_shape_begins_with_what_the_first_found(tmp_path: Path) -> None:
    shapes = ["--shape", "N=2048", "--shape", "N=4096"]
    done = subprocess.run(
        [sys.executable, "-m", "engine.tune", "vector_add", *shapes, "--trials", "6", "--json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, second = json.loads(done.stdout)["results"]
    assert first["shape"] == {"N": 2048}
    assert first["history"] is None
    assert second["shape"] == {"N": 4096}
    assert second["history"] == first["study"]
    asked = [line for line in done.stderr.splitlines() if line.startswith("trial=")][6:]
    configs = [dict(field.split("=", 1) for field in line.split("\t"))["config"] for line in asked]
    best = next(t for t in first["best"] if t["config"] != first["default"]["config"])
    assert configs[1] == f"BLOCK_SIZE={best['config']['BLOCK_SIZE']}"
