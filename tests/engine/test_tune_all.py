"""One kernel after another: the table at the end, and the exit status."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine import tune_all
from foundation.errors import UserError
from kernels.registry import kernel_names

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


@pytest.mark.usefixtures("ray_for_tests")
def test_each_kernel_has_a_row_and_one_without_a_winner_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("engine.arguments.options.cores", lambda: 1)  # so many builders
    Path("never.py").write_text(NEVER_RIGHT)
    assert tune_all.main(["dropout", "never.py", "--trials", "2"]) == 1
    printed = capsys.readouterr()
    heading, rule, dropout, never = printed.out.splitlines()
    assert len(re.findall(r"\(estimated, ±\d+%\)", heading)) == 2
    assert rule.count("|") == heading.count("|") == dropout.count("|") == never.count("|") == 8
    kernel, dtype, shape, default, best, config, speedup = dropout.strip("| ").split(" | ")
    assert (kernel, dtype, shape) == ("dropout", "fp32", "N=16384")
    default_us, best_us = (float(text.removesuffix(" us")) for text in (default, best))
    assert config.startswith("BLOCK_SIZE=")
    assert float(speedup.removesuffix("x")) == pytest.approx(default_us / best_us, abs=0.01)
    assert never == "| never | fp32 | N=16 | - | - | - | - |"
    assert "never[0] is" not in printed.out
    assert "out_ptr[0] is 1 and should be 0" in printed.err


def test_every_kernel_is_tuned_where_none_is_named() -> None:
    assert tune_all._parse([]).kernels == kernel_names()
    assert tune_all._parse(["matmul"]).kernels == ["matmul"]


def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(UserError, match="did you mean softmax"):
        tune_all.main(["sofmax"])
