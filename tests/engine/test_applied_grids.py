"""`engine.apply`: grids and descriptors that follow the constants of a winner."""

from __future__ import annotations

import runpy

import pytest
from applied_programs import SHOWN, add_winners, applied_here, captured_here
from captured_programs import written

import engine
import triton_rvv
from kernels.captured.task_file import read_capture
from kernels.captured.task_values import Descriptor
from triton_rvv.launches.fitting import reaching
from triton_rvv.launches.grid_text import followed
from triton_rvv.launches.rule import Rule


def test_a_grid_of_numbers_follows_its_rule(tmp_path):
    captured_here(tmp_path, "show(1000, numbers=True)")
    add_winners(tmp_path / "program.capture", {"BLOCK": 256}, ("cdiv(n, BLOCK)", "1", "1"))
    out, _ = applied_here(tmp_path, "print(show(1000, numbers=True), show(3000, numbers=True))")
    assert out == "[256] [256]\n"


OPTIONS_ALONE = SHOWN.replace(
    "@triton.jit",
    "@triton.autotune([triton.Config({}, num_warps=w) for w in (2, 4)], key=['n'])\n@triton.jit",
)


def test_a_block_that_an_autotuner_leaves_to_the_program_is_replaced(tmp_path):
    captured_here(tmp_path, "show(1000, numbers=True); show(1000, other=1)", OPTIONS_ALONE)
    add_winners(tmp_path / "program.capture", {"BLOCK": 256}, ("cdiv(n, BLOCK)", "1", "1"))
    body = """
print(show(1000, numbers=True), show(3000, numbers=True), show(1000, other=1))
out = torch.zeros(1000, dtype=torch.int32)
shown_kernel[(16,)](out, 1000, 64, 0)
shown_kernel[(5,)](out, 1000, 64, 0)
print(out.unique().tolist())
"""
    out, said = applied_here(tmp_path, body, OPTIONS_ALONE)
    assert out == "[256] [256] [1000256]\n[64, 256]\n"
    assert "as the program has it, since its grid does not follow the winner's constants" in said


def test_a_block_that_may_have_to_cover_a_row_stays_at_other_sizes(tmp_path):
    captured_here(tmp_path, "show(60, numbers=True)")
    add_winners(tmp_path / "program.capture", {"BLOCK": 128})
    out, said = applied_here(tmp_path, "print(show(60, numbers=True), show(50, numbers=True))")
    assert out == "[128] [64]\n"
    assert "may be bound" in said


@pytest.mark.parametrize(
    ("value", "own", "fits"),
    [(64, 256, True), (96, 256, False), (False, True, False), (True, False, False), (0, 1, False)],
)
def test_only_blocks_divide_the_programs_own(value, own, fits):
    rule = Rule("", "", "", "", "", "", [], [], {"BLOCK": value}, None, True, ["BLOCK"])
    assert (reaching(rule, {}, {"BLOCK": [own]}) == "") == fits


DESCRIBED = """
import torch, triton, triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def described_kernel(x, out, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK
    tl.store(out + at + tl.arange(0, BLOCK), x.load([at]) + BLOCK)

x, out = torch.zeros(64), torch.empty(64)
described_kernel[(4,)](TensorDescriptor.from_tensor(x, [16]), out, 64, BLOCK=16)
print(out.unique().tolist())
"""


def test_a_descriptor_gets_the_block_of_the_winner(tmp_path, capsys):
    triton_rvv.activate("host")
    program, path = str(written(tmp_path, DESCRIBED, head="")), tmp_path / "program.capture"
    with engine.capture(path):
        runpy.run_path(program)
    (task,) = read_capture(path).tasks
    described = task.arguments["x"]
    assert isinstance(described, Descriptor)
    assert described.block_shape == (16,)
    add_winners(path, {"BLOCK": 32}, ("cdiv(64, BLOCK)", "1", "1"), loads={"x": (32,)})
    with engine.apply(path):
        runpy.run_path(program)
    assert capsys.readouterr().out == "[16.0]\n[32.0]\n"


def test_formulas_of_a_grid():
    class Shaped:
        shape = (7, 9)

    values = {"n": 10, "B": 4, "x": Shaped(), "sizes": (10, 20)}
    smaller = {**values, "B": 2}
    assert followed("cdiv(n, B) * x.shape[1] * 2", values, smaller, 54) == 90
    assert followed("cdiv(sizes[1], B)", values, smaller, 5) == 10
    assert followed("cdiv(sizes[0] | sizes[1] | y, B)", values, smaller, 5) == 10
    assert followed("cdiv(n | sizes[0], B)", values, smaller, 3) == 5
    unknown = ("__import__('os')", "n + 1", "y", "x", "n.real")
    others = ("cdiv(n, B)", "5", "cdiv(n | sizes[0], B)")
    for text in (*unknown, *others):
        with pytest.raises(ValueError, match="does not say how many programs"):
            followed(text, values, smaller, 4)
    with pytest.raises(ValueError, match="does not say"):  # both give 3 for 4, and not for 2
        followed("cdiv(n | 12, B)", values, smaller, 3)


def test_a_grid_that_follows_a_step_is_not_taken_for_one_that_follows_a_size(tmp_path):
    """Where a matrix is contiguous, its columns are as many as its step."""
    body = """
import torch, triton, triton.language as tl

@triton.jit
def copy_kernel(x, out, step, place, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at * step, mask=at < n) + BLOCK * place, mask=at < n)

def copied(step, n):
    out = torch.full((n,), -1.0)
    x = torch.zeros(n * step)
    copy_kernel[(triton.cdiv(n, 64),)](x, out, step, 1, n, BLOCK=64)
    return out.unique().tolist()
"""
    captured_here(tmp_path, "copied(100, 100)", body)
    add_winners(tmp_path / "program.capture", {"BLOCK": 16}, ("cdiv(step | n, BLOCK)", "1", "1"))
    calls = "print(copied(100, 100), copied(50, 180), copied(100, 126))"
    out, said = applied_here(tmp_path, calls, body)
    assert out == "[16.0] [16.0] [64.0]\n"
    assert "its grid does not follow the winner's constants" in said
