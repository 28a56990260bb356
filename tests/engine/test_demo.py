"""The demonstration of the C library, from tuning to a program that is right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "benchmarks" / "demo.py"


@pytest.mark.long
def test_a_transformer_block_is_right_against_torch(tmp_path):
    command = [sys.executable, str(DEMO), "--trials", "2"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=280
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(" right against torch: ") == 2
    assert done.stdout.count("(estimated)") == 7
