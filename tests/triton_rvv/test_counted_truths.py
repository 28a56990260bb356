"""Counts of what is true, along rows and over the turns of a loop."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_passes import after
from qemu_kernels import Expected

BLOCK, TRUTHS = "tensor<2xSIZExi32>", "tensor<2xSIZExi1>"
SUM = """({
  ^bb1(%l: i32, %r: i32):
    %lr = "COMBINES"(%l, %r) : (i32, i32) -> i32
    "tt.reduce.return"(%lr) : (i32) -> ()
  }) {axis = AXIS : i32} : (BLOCK) -> tensor<REDUCEDxi32>"""
LOOP = f"""
%start = "arith.constant"() {{value = dense<START> : BLOCK}} : () -> BLOCK
%none = "arith.constant"() {{value = 0 : i32}} : () -> i32
%one = "arith.constant"() {{value = 1 : i32}} : () -> i32
%b = "tt.splat"(%n) : (i32) -> BLOCK
%q = "scf.for"(%none, %n, %one, %start) ({{
^bb0(%i: i32, %total: BLOCK):
  %s = "tt.splat"(%i) : (i32) -> BLOCK
  %c = "arith.cmpi"(%b, %s) {{predicate = 2}} : (BLOCK, BLOCK) -> TRUTHS
  %w = "WIDENS"(%c) : (TRUTHS) -> BLOCK
  %m = "arith.addi"(%total, %w) : (BLOCK, BLOCK) -> BLOCK
  "scf.yield"(%m) : (BLOCK) -> ()
}}) : (i32, i32, i32, BLOCK) -> BLOCK
%sum = "tt.reduce"(%q) {SUM}
"""


@pytest.mark.parametrize(
    ("start", "widens", "combines", "size", "axis", "shape"),
    [
        (0, "arith.extui", "arith.addi", 256, 1, "2"),
        # -1 for true, another start, another end, and columns keep blocks.
        (0, "arith.extsi", "arith.addi", 256, 1, "2x64"),
        (3, "arith.extui", "arith.addi", 256, 1, "2x256"),
        (0, "arith.extui", "arith.maxsi", 256, 1, "2x256"),
        (0, "arith.extui", "arith.addi", 256, 0, "1x256"),
        # So short a block stays in registers.
        (0, "arith.extui", "arith.addi", 64, 1, "2x64"),
    ],
)
def test_loops_carry_numbers_of_rows(start, widens, combines, size, axis, shape):
    given = {"START": start, "WIDENS": widens, "COMBINES": combines, "AXIS": axis}
    given |= {"BLOCK": BLOCK, "TRUTHS": TRUTHS, "SIZE": size, "REDUCED": (size, 2)[axis]}
    text = LOOP
    for name, value in given.items():
        text = text.replace(name, str(value))
    _, module = after("narrow-accumulators", text)
    (loop,) = (each for each in module.walk() if each.name == "scf.for")
    assert "x".join(map(str, loop.results[0].shape)) == shape


@triton.jit
def count_kernel(x_ptr, rows_ptr, bytes_ptr, turns_ptr, n, turns, M: tl.constexpr, N: tl.constexpr):
    """How many numbers of each of M rows are below 0 or NaN, with n of N there.

    In turns: how many are below the turn's number, and how many of those are not 0.
    """
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    there = columns[None, :] < n
    x = tl.load(x_ptr + rows[:, None] * n + columns[None, :], mask=there, other=-1.0)
    tl.store(rows_ptr + rows, tl.sum((~(x >= 0)).to(tl.int64), axis=1))
    tl.store(bytes_ptr + rows, tl.sum((~(x >= 0)).to(tl.int8), axis=1).to(tl.int8))
    below, others = tl.zeros((M, N), dtype=tl.int32), tl.zeros((M, N), dtype=tl.int32)
    for turn in range(turns):
        of_turn = tl.load(x_ptr + rows[:, None] * n + columns[None, :], mask=there, other=turn)
        below += (of_turn < turn).to(tl.int32)
        others += ((of_turn != 0) & (of_turn < turn)).to(tl.int32)
    tl.store(turns_ptr + rows, tl.sum(below, axis=1))
    tl.store(turns_ptr + M + rows, tl.sum(others, axis=1))


@pytest.mark.parametrize(
    ("rows", "size", "there"), [(4, 512, 512), (4, 512, 333), (2, 16, 7), (4, 1, 1)]
)
def test_counts_of_rows(run, rows, size, there):
    """Lanes that a mask leaves out count by what takes their place."""
    x = np.random.default_rng(4).standard_normal((rows, there)).astype(np.float32)
    x[0, :5] = [np.nan, -0.0, np.inf, -np.inf, 0.0][:there]
    counts = (~(x >= 0)).sum(1) + size - there
    below = np.stack([[x < turn, (x < turn) & (x != 0)] for turn in range(3)], axis=1).sum(1)
    run(
        count_kernel,
        x_ptr=x,
        rows_ptr=Expected(counts.astype(np.int64)),
        bytes_ptr=Expected(counts.astype(np.int8)),
        turns_ptr=Expected(below.sum(2).astype(np.int32).ravel()),
        n=there,
        turns=3,
        M=rows,
        N=size,
    )
