"""The demonstration of the C library, from tuning to a program that is right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "benchmarks" / "programs" / "demo.py"


@pytest.mark.long
def test_a_decoder_is_right_against_torch(tmp_path):
    command = [sys.executable, str(DEMO), "--trials", "1", "--runs", "1"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=280
    )
    assert done.returncode == 0, done.stderr
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("| emulated:x60 | 4 |")]
    assert done.stdout.count("(estimated)") == 12
    assert float(row.split("|")[6]) > 0
