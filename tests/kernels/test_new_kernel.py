"""The file that `python -m engine.new` writes: it is right, tuning it pays, it replaces nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from kernel_runs import run_kernel

from engine import new
from foundation.errors import UserError
from kernels.registry import load_kernel, make_problem
from rvv_runner.devices import load_board

COMMAND_TIMEOUT_S = 200


@pytest.fixture
def skeleton(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    new.main(["axpy"])
    return tmp_path / "axpy.py"


@pytest.mark.parametrize("dtype", ["fp32", pytest.param("fp16", marks=pytest.mark.long)])
def test_the_skeleton_is_right_as_it_stands(skeleton, tmp_path, dtype):
    problem = make_problem(load_kernel(str(skeleton)), {"M": 50, "N": 1000}, dtype)
    assert problem.default_config == {"BLOCK_M": 16, "BLOCK_N": 16}
    space = problem.space(load_board("emulated").info)
    assert len(list(space.valid_configs())) == 25
    run_kernel(problem, {"BLOCK_M": 4}, tmp_path)


@pytest.mark.long
def test_tuning_the_skeleton_pays(skeleton):
    """By the emulated board's estimates, which are the same on every machine."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "engine.tune",
            skeleton.name,
            "--trials",
            "12",
            "--shape",
            "M=64",
            "--jobs",
            "1",
        ],
        capture_output=True,
        text=True,
        timeout=COMMAND_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "status=correct\tcount=12" in done.stdout
    speedup = re.search(r"^best=1\t.*\tspeedup=([\d.]+)", done.stdout, re.MULTILINE)
    assert float(speedup[1]) > 1.1


def test_a_file_is_never_overwritten(skeleton):
    with pytest.raises(UserError, match=r"axpy\.py already exists"):
        new.main(["axpy"])
    with pytest.raises(UserError, match="2x cannot name a function: use A to Z"):
        new.main(["2x"])
