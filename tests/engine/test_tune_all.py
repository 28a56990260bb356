"""One kernel after another: the table at the end, and the exit status."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from engine import kernels, tune_all
from engine.jobs.kernel_table import bound_lines
from engine.winners.at_shape import limits_of_device
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


@pytest.mark.usefixtures("workers_here")
def test_each_kernel_has_a_row_and_one_without_a_winner_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("engine.arguments.options.cores", lambda: 1)  # so many builders
    Path("never.py").write_text(NEVER_RIGHT)
    at = ["--shape", "N=16384"]
    assert tune_all.main(["dropout", "never.py", *at, "--trials", "2"]) == 1
    printed = capsys.readouterr()
    heading, rule, dropout, never = printed.out.splitlines()
    assert len(re.findall(r"\(estimated, ±\d+%\)", heading)) == 2
    assert rule.count("|") == heading.count("|") == dropout.count("|") == never.count("|") == 8
    kernel, dtype, shape, default, best, config, speedup = dropout.strip("| ").split(" | ")
    assert (kernel, dtype, shape) == ("dropout", "fp32", "N=16384")
    default_us, best_us = (float(text.removesuffix(" us")) for text in (default, best))
    assert config.startswith("BLOCK_SIZE=")
    assert float(speedup.removesuffix("x")) == pytest.approx(default_us / best_us, abs=0.01)
    assert never == "| never | fp32 | N=16384 | - | - | - | - |"
    assert "never[0] is" not in printed.out
    assert "out_ptr[0] is 1 and should be 0" in printed.err
    shown_where_the_winners_are_compared(at, best, capsys)


def shown_where_the_winners_are_compared(
    at: Sequence[str], best: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kernels.main(at) == 0
    title, headings, *rest = [x for x in capsys.readouterr().out.splitlines() if x.strip(" ─")]
    assert "N=16384 on emulated:x60, estimated" in title
    assert " ".join(headings.split()) == "kernel type time Gop/s GB/s of bound"
    name, dtype, *time, _, rate, bound = rest[0].split()
    assert (name, dtype, " ".join(time)) == ("dropout", "fp32", best)
    # Two arrays of 16384 floats lie in L2: the bound is 2 N operations at 25.6 G/s.
    time_us = float(best.removesuffix(" us"))
    assert float(rate) == pytest.approx(2 * 16384 * 4 / time_us / 1e3, rel=0.01)
    assert float(bound.rstrip("%")) == pytest.approx(100 * 2 * 16384 / 25.6e3 / time_us, abs=0.5)
    configuration, not_tuned, command = rest[-3:]
    assert "engine.find dropout --shape N=16384 --dtype fp32 --device emulated" in configuration
    assert "dropout in fp16, bf16; swiglu in fp32, fp16, bf16; vector_add in fp32," in not_tuned
    assert "engine.tune_all --shape N=16384 --dtype all --device emulated" in command
    assert kernels.main(["swiglu", *at, "--dtype", "f16"]) == 1
    assert "not tuned at N=16384 on emulated: swiglu in fp16" in capsys.readouterr().out
    assert kernels.main(["never.py", *at, "--storage", "other.journal"]) == 1
    # A file's types are not listed, and the other command stores in no other storage.
    (line,) = capsys.readouterr().out.splitlines()
    assert line.endswith("never.py in fp32")


def test_every_kernel_is_tuned_where_none_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(NEVER_RIGHT)

    def asked(*words: str) -> list[tuple[str, str | None]]:
        return [(kernel, dtype) for kernel, dtype, _ in tune_all._studies(tune_all._parse(words))]

    assert asked() == [(name, None) for name in kernel_names()]
    assert asked("matmul", "--dtype", "i8") == [("matmul", "i8")]
    assert asked("--shape", "M=1,N=1024,K=1024", "--dtype", "fp8e5") == [
        ("gemm_a8w8_blockscale", "fp8e5")
    ]
    assert asked("own.py", "--dtype", "all") == [("own.py", None)]
    with pytest.raises(UserError, match="softmax does not take i8"):  # before any is tuned
        asked("matmul", "softmax", "--dtype", "i8")
    types = ("fp32", "fp16", "bf16")
    with_sizes = asked("--shape", "N=64", "--dtype", "all")
    assert with_sizes[:3] == [("dropout", dtype) for dtype in types]
    assert {name for name, _ in with_sizes} == {"dropout", "swiglu", "vector_add"}


def test_the_list_has_what_each_computes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kernels.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines[::2]] == kernel_names()
    softmax = lines.index("softmax: Softmax over each row of a matrix, several rows per program.")
    assert lines[softmax + 1] == "    M=256,N=512  fp32 fp16 bf16"
    with pytest.raises(UserError, match=r"no kernel has exactly the sizes M, X: .* lists those"):
        kernels.main(["--shape", "M=1,X=2"])
    with pytest.raises(UserError, match=r"no kernel has exactly the sizes M, N and takes i8: "):
        kernels.main(["--shape", "M=1,N=2", "--dtype", "i8"])
    assert kernels.main(["--dtype", "fp8e5"]) == 0
    assert capsys.readouterr().out.startswith("gemm_a8w8_blockscale: ")
    (tmp_path / "own.py").write_text(NEVER_RIGHT)
    with pytest.raises(UserError, match=r"own\.py is not one of the kernels .*: add --shape"):
        kernels.main([str(tmp_path / "own.py")])


def test_the_arithmetic_of_a_matrix_unit_bounds_nothing() -> None:
    (line,) = bound_lines([], limits_of_device("emulated:x60-ime"))
    assert line.startswith("bound: 7.2 GB/s from DRAM")
    assert bound_lines([], limits_of_device("host")) == []


def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(UserError, match="did you mean softmax"):
        tune_all.main(["sofmax"])
