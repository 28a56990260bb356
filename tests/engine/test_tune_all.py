"""One kernel after another: the table at the end, and the exit status."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from engine import tune_all
from foundation.errors import UserError
from kernels.registry import kernel_names

COMMAND_TIMEOUT_S = 150
NEVER_RIGHT = """
import torch
import triton
import triton.language as tl


@triton.jit
def never_kernel(out_ptr, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, BLOCK), 1.0)


def get_never_kernel_autotune_config():
    return [triton.Config({"BLOCK": 16})]


def arguments(N=16):
    return {"out_ptr": torch.empty(N)}


def grid(meta):
    return 1


def reference(out_ptr):
    return {"out_ptr": torch.zeros_like(out_ptr)}
"""


@pytest.mark.timeout(COMMAND_TIMEOUT_S + 30)
def test_each_kernel_has_a_row_and_one_without_a_winner_is_told(tmp_path: Path) -> None:
    (tmp_path / "never.py").write_text(NEVER_RIGHT)
    done = subprocess.run(
        [sys.executable, "-m", "engine.tune_all", "dropout", "never.py", "--trials", "2"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=COMMAND_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    heading, rule, dropout, never = done.stdout.splitlines()
    assert heading.count("(estimated)") == 2
    assert rule.count("|") == heading.count("|") == dropout.count("|") == never.count("|") == 8
    kernel, dtype, shape, default, best, config, speedup = dropout.strip("| ").split(" | ")
    assert (kernel, dtype, shape) == ("dropout", "fp32", "N=16384")
    assert default.endswith(" us")
    assert best.endswith(" us")
    assert config.startswith("BLOCK_SIZE=")
    assert float(speedup.removesuffix("x")) >= 1
    assert never == "| never | fp32 | N=16 | - | - | - | - |"
    assert "never[0] is" not in done.stdout
    assert "out_ptr[0] is 1 and should be 0" in done.stderr


def test_every_kernel_is_tuned_where_none_is_named() -> None:
    assert tune_all._parse([]).kernels == kernel_names()
    assert tune_all._parse(["matmul"]).kernels == ["matmul"]


def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(UserError, match="did you mean softmax"):
        tune_all.main(["sofmax"])
