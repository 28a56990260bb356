"""Counts of what is true, along rows and from turn to turn of a loop."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_passes import after
from qemu_kernels import Expected

BLOCK, TRUTHS = "tensor<64xi32>", "tensor<64xi1>"
SUM = f"""({{
  ^bb1(%l: i32, %r: i32):
    %lr = "COMBINES"(%l, %r) : (i32, i32) -> i32
    "tt.reduce.return"(%lr) : (i32) -> ()
  }}) {{axis = 0 : i32}} : ({BLOCK}) -> i32"""
LOOP = f"""
%start = "arith.constant"() {{value = dense<START> : {BLOCK}}} : () -> {BLOCK}
%none = "arith.constant"() {{value = 0 : i32}} : () -> i32
%one = "arith.constant"() {{value = 1 : i32}} : () -> i32
%at = "tt.make_range"() {{end = 64, start = 0}} : () -> {BLOCK}
%q = "scf.for"(%none, %n, %one, %start) ({{
^bb0(%i: i32, %total: {BLOCK}):
  %s = "tt.splat"(%i) : (i32) -> {BLOCK}
  %c = "arith.cmpi"(%at, %s) {{predicate = 2}} : ({BLOCK}, {BLOCK}) -> {TRUTHS}
  %w = "WIDENS"(FROM) : (TYPE) -> {BLOCK}
  %m = "arith.addi"(%total, %w) : ({BLOCK}, {BLOCK}) -> {BLOCK}
  "scf.yield"(%m) : ({BLOCK}) -> ()
}}) : (i32, i32, i32, {BLOCK}) -> {BLOCK}
%sum = "tt.reduce"(%q) {SUM}
"""


@pytest.mark.parametrize(
    ("start", "widens", "combines", "more", "count"),
    [
        (0, "arith.extui", "arith.addi", "", 1),
        # -1 for true, another start, another end, and numbers that are asked for otherwise too.
        (0, "arith.extsi", "arith.addi", "", 0),
        (3, "arith.extui", "arith.addi", "", 0),
        (0, "arith.extui", "arith.maxsi", "", 0),
        (0, "arith.extui", "arith.addi", f'%z = "math.absi"(%q) : ({BLOCK}) -> {BLOCK}', 0),
    ],
)
def test_counts_in_a_loop(start, widens, combines, more, count):
    text = LOOP.replace("START", str(start)).replace("WIDENS", widens).replace("FROM", "%c")
    text = text.replace("TYPE", TRUTHS).replace("COMBINES", combines)
    fired, module = after("narrow-accumulators", text + more)
    (loop,) = (each for each in module.walk() if each.name == "scf.for")
    assert fired == count == sum(each.name == "tt.reduce" for each in loop.walk())


@triton.jit
def count_kernel(x_ptr, rows_ptr, bytes_ptr, total_ptr, n, M: tl.constexpr, N: tl.constexpr):
    """How many numbers of each of M rows are below 0 or NaN, with n of N there; and of all rows."""
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    there = columns[None, :] < n
    x = tl.load(x_ptr + rows[:, None] * n + columns[None, :], mask=there, other=-1.0)
    tl.store(rows_ptr + rows, tl.sum((~(x >= 0)).to(tl.int64), axis=1))
    tl.store(bytes_ptr + rows, tl.sum((~(x >= 0)).to(tl.int8), axis=1).to(tl.int8))
    total = tl.zeros((N,), dtype=tl.int32)
    for row in range(M):
        of_row = tl.load(x_ptr + row * n + columns, mask=columns < n, other=0.0)
        total += tl.where(of_row < 0, 1, 0)
    tl.store(total_ptr, tl.sum(total, axis=0))


@pytest.mark.parametrize(
    ("rows", "size", "there"), [(4, 512, 512), (4, 512, 333), (2, 16, 7), (4, 1, 1)]
)
def test_counts_of_rows(run, rows, size, there):
    """Lanes that a mask leaves out count by what takes their place."""
    x = np.random.default_rng(4).standard_normal((rows, there)).astype(np.float32)
    x[0, :5] = [np.nan, -0.0, np.inf, -np.inf, 0.0][:there]
    counts = (~(x >= 0)).sum(1) + size - there
    run(
        count_kernel,
        x_ptr=x,
        rows_ptr=Expected(counts.astype(np.int64)),
        bytes_ptr=Expected(counts.astype(np.int8)),
        total_ptr=Expected(np.array([(x < 0).sum()], np.int32)),
        n=there,
        M=rows,
        N=size,
    )
