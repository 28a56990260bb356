"""Reductions of rows that end before their block does: what is behind the end is not looked at."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_passes import after, only
from ir_text import function
from qemu_kernels import Expected, KernelRunner

from triton_rvv.frontend.ttir import parse_module
from triton_rvv.lowering import lower_module
from triton_rvv.lowering.ttir.row_ends import BEHIND_END
from triton_rvv.targets.target import RVVTarget

INTS, FLOATS, TRUTHS = (f"tensor<512x{element}>" for element in ("i32", "f32", "i1"))
POINTERS = "tensor<512x!tt.ptr<f32>>"

# %v is loaded where %columns < %n; %w where %columns < %m.
ROW = f"""
%columns = "tt.make_range"() {{end = 512, start = 0}} : () -> {INTS}
%ns = "tt.splat"(%n) : (i32) -> {INTS}
%m = "arith.trunci"(%wide) : (i64) -> i32
%ms = "tt.splat"(%m) : (i32) -> {INTS}
%mask = "arith.cmpi"(%columns, %ns) {{predicate = 2}} : ({INTS}, {INTS}) -> {TRUTHS}
%other_mask = "arith.cmpi"(%columns, %ms) {{predicate = 2}} : ({INTS}, {INTS}) -> {TRUTHS}
%zeros = "arith.constant"() {{value = dense<0.0> : {FLOATS}}} : () -> {FLOATS}
%fives = "arith.constant"() {{value = dense<5.0> : {FLOATS}}} : () -> {FLOATS}
%xs = "tt.splat"(%x) : (!tt.ptr<f32>) -> {POINTERS}
%p = "tt.addptr"(%xs, %columns) : ({POINTERS}, {INTS}) -> {POINTERS}
%v = "tt.load"(%p, %mask, %zeros) {{operandSegmentSizes = array<i32: 1, 1, 1>}} : ({POINTERS}, {TRUTHS}, {FLOATS}) -> {FLOATS}
%w = "tt.load"(%p, %other_mask, %zeros) {{operandSegmentSizes = array<i32: 1, 1, 1>}} : ({POINTERS}, {TRUTHS}, {FLOATS}) -> {FLOATS}
"""  # noqa: E501


def reduced(value: str, operation: str = "arith.addf") -> str:
    return f"""
    %r = "tt.reduce"(%{value}) ({{
      ^bb0(%a: f32, %b: f32):
        %c = "{operation}"(%a, %b) : (f32, f32) -> f32
        "tt.reduce.return"(%c) : (f32) -> ()
    }}) {{axis = 0}} : ({FLOATS}) -> f32
    """


def both(name: str, left: str, right: str) -> str:
    return f'%{name} = "arith.mulf"(%{left}, %{right}) : ({FLOATS}, {FLOATS}) -> {FLOATS}\n'


def chosen(name: str, yes: str, no: str, mask: str = "mask") -> str:
    types = f"({TRUTHS}, {FLOATS}, {FLOATS}) -> {FLOATS}"
    return f'%{name} = "arith.select"(%{mask}, %{yes}, %{no}) : {types}\n'


def unless_five(one: str, other: str) -> str:
    """Zeros behind the end of one mask; fives behind that of another one before it."""
    return chosen("t", "v", "fives", other) + chosen("u", "t", "zeros", one) + reduced("u")


def widened(other: str) -> str:
    """A choice of f16 that becomes f32, and what is behind the end of its mask."""
    half = FLOATS.replace("f32", "f16")
    return f"""
    %h = "arith.truncf"(%v) : ({FLOATS}) -> {half}
    %others = "arith.constant"() {{value = dense<{other}> : {half}}} : () -> {half}
    %t = "arith.select"(%mask, %h, %others) : ({TRUTHS}, {half}, {half}) -> {half}
    %u = "arith.extf"(%t) : ({half}) -> {FLOATS}
    """


@pytest.mark.parametrize(
    ("body", "behind"),
    [
        pytest.param(reduced("v"), [0], id="a sum of what is loaded"),
        pytest.param(both("u", "v", "v") + reduced("u"), [0], id="of squares"),
        pytest.param(chosen("u", "w", "zeros") + reduced("u"), [0], id="behind either of two ends"),
        pytest.param(unless_five("mask", "other_mask"), None, id="not behind the other"),
        pytest.param(unless_five("other_mask", "mask"), None, id="not behind the one"),
        pytest.param(both("u", "v", "w") + reduced("u"), None, id="zeros times what may be NaN"),
        pytest.param(chosen("u", "v", "fives") + reduced("u"), None, id="a sum of fives"),
        pytest.param(
            chosen("u", "v", "fives") + reduced("u", "arith.maxnumf"), [5], id="the largest"
        ),
        pytest.param(
            widened("0xFC00") + reduced("u", "arith.maxnumf"), [-math.inf], id="an infinite one"
        ),
        pytest.param(
            widened("0.1") + reduced("u", "arith.maxnumf"), None, id="not what f16 has rounded"
        ),
        pytest.param(chosen("u", "fives", "v") + reduced("u"), [0], id="a choice of numbers"),
        pytest.param(reduced("fives"), None, id="no mask at all"),
    ],
)
def test_mark_row_ends(body, behind):
    count, module = after("mark-row-ends", ROW + body)
    assert count == (behind is not None)
    assert only(module, "tt.reduce").attributes.get(BEHIND_END) == behind


@pytest.mark.parametrize(("axis", "behind"), [(0, [0]), (1, None)])
def test_a_mask_of_rows_ends_rows_alone(axis, behind):
    # Rows that it leaves out have other columns.
    square = "tensor<512x512xf32>"
    body = f"""
    %rows = "tt.expand_dims"(%v) {{axis = 1}} : ({FLOATS}) -> tensor<512x1xf32>
    %all = "tt.broadcast"(%rows) : (tensor<512x1xf32>) -> {square}
    %r = "tt.reduce"(%all) ({{
      ^bb0(%a: f32, %b: f32):
        %c = "arith.addf"(%a, %b) : (f32, f32) -> f32
        "tt.reduce.return"(%c) : (f32) -> ()
    }}) {{axis = {axis}}} : ({square}) -> {FLOATS}
    """
    _, module = after("mark-row-ends", ROW + body)
    assert only(module, "tt.reduce").attributes.get(BEHIND_END) == behind


def powers(subtracted: str, extreme: str = "arith.maxnumf") -> str:
    """The sum of the powers of differences to an extreme element of a block."""
    infinite = f'%least = "arith.constant"() {{value = dense<0xFF800000> : {FLOATS}}} : () -> '
    top = reduced(subtracted, extreme).replace("%r =", "%top =")
    return (
        f"{infinite}{FLOATS}\n{chosen('s', 'v', 'least')}{top}"
        f'%tops = "tt.splat"(%top) : (f32) -> {FLOATS}\n'
        f'%d = "arith.subf"(%s, %tops) : ({FLOATS}, {FLOATS}) -> {FLOATS}\n'
        f'%e = "math.exp"(%d) : ({FLOATS}) -> {FLOATS}\n{reduced("e")}'
    )


@pytest.mark.parametrize(
    ("body", "behind"),
    [
        pytest.param(powers("s"), [0], id="the largest of the same block"),
        pytest.param(powers("w"), None, id="of another block, which may be infinite alone"),
        pytest.param(powers("s", "arith.minnumf"), None, id="the smallest"),
    ],
)
def test_powers_of_differences_behind_the_end(body, behind):
    _, module = after("mark-row-ends", ROW + body)
    total = next(
        each for each in module.walk() if each.name == "tt.reduce" and each.result.name == "%r"
    )
    assert total.attributes.get(BEHIND_END) == behind


STORE = '"tt.store"(%y, %r) : (!tt.ptr<f32>, f32) -> ()'


@pytest.mark.parametrize(
    ("row", "count"),
    [(ROW, 1), (ROW.replace("{operandSegmentSizes", "{isVolatile = true, operandSegmentSizes"), 0)],
    ids=["a load", "a volatile load, which reads its block once"],
)
def test_end_rows(row, count):
    lowered = lower_module(parse_module(function(row + reduced("v") + STORE)), RVVTarget())
    assert {each.name: each.count for each in lowered.passes}["end-rows"] == count


@triton.jit
def many_rows(
    x_ptr, ends_ptr, out_ptr, m, low, STRIDE: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    program = tl.program_id(0)
    n = tl.load(ends_ptr + 2 * program)
    k = tl.load(ends_ptr + 2 * program + 1)
    rows = tl.arange(0, ROWS)
    columns = low + tl.arange(0, BLOCK)
    at = rows[:, None] * STRIDE + columns[None, :]
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    both = tl.load(x_ptr + at, mask=mask & (columns[None, :] <= k), other=0.0)
    shifted = tl.load(x_ptr + at, mask=mask & (columns[None, :] >= 7), other=-9.0)
    out = out_ptr + program * 5 * ROWS + rows
    tl.store(out, tl.sum(x * x, axis=1))
    tl.store(out + ROWS, tl.max(tl.abs(x), axis=1))
    tl.store(out + 2 * ROWS, tl.min(tl.where(mask, x + 20, 3.0), axis=1))
    tl.store(out + 3 * ROWS, tl.sum(x * both, axis=1))
    tl.store(out + 4 * ROWS, tl.max(shifted - 100, axis=1))


def _expected(x, ends, m, low, rows, block):
    out, columns = [], low + np.arange(block)
    for n, k in ends:
        mask = (np.arange(rows)[:, None] < m) & (columns < n)
        own = np.where(mask, x[:rows, columns], 0)
        shifted = np.where(mask & (columns >= 7), x[:rows, columns], -9)
        out += [
            (own**2).sum(1),
            np.abs(own).max(1),
            np.where(mask, own + 20, 3).min(1),
            (own * np.where(columns <= k, own, 0)).sum(1),
            shifted.max(1) - 100,
        ]
    return np.stack(out).astype(np.float32)


@pytest.mark.parametrize(("m", "low"), [(4, 0), (3, 5)], ids=["all rows", "the last row is not"])
def test_rows_end_anywhere(m, low, tmp_path: Path):
    rows, block = 4, 256
    # What is behind the ends, and would change any result.
    x = np.random.default_rng(0).integers(-8, 9, (rows, 300)).astype(np.float32)
    ends = [(n, k) for n in (-3, 0, 1, 31, 32, 33, 64, 100, 200, 255, 256, 280) for k in (40, 130)]
    KernelRunner(tmp_path)(
        many_rows,
        grid=(len(ends),),
        vlen_bits=128,
        x_ptr=x,
        ends_ptr=np.array(ends, np.int32),
        out_ptr=Expected(_expected(x, ends, m, low, rows, block)),
        m=m, low=low, STRIDE=300, ROWS=rows, BLOCK=block,
    )  # fmt: skip


@triton.jit
def softmax_of_columns(x_ptr, ends_ptr, out_ptr, low, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    program = tl.program_id(0)
    end = tl.load(ends_ptr + program)
    rows = low + tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)
    at = x_ptr + rows[:, None] * COLUMNS + columns[None, :]
    mask = (rows < end)[:, None]
    x = tl.load(at, mask=mask, other=-float("inf"))
    top = tl.max(x, axis=0)
    # What was the largest before, as where softmax goes on from block to block.
    top = tl.maximum(top, -2.0)
    total = tl.sum(tl.exp(x - top[None, :]), axis=0)
    ones = tl.load(at, mask=mask, other=0.0)
    largest = tl.max(tl.where(mask, tl.exp(ones), 0.5), axis=0)
    tl.store(out_ptr + program * 2 * COLUMNS + columns, total)
    tl.store(out_ptr + (program * 2 + 1) * COLUMNS + columns, largest)


@pytest.mark.parametrize("vlen_bits", [128, 256])
@pytest.mark.parametrize(("rows", "columns"), [(32, 8), (16, 64), (4, 4)])
def test_rows_that_are_combined_end_anywhere(rows, columns, vlen_bits, tmp_path: Path):
    low = 3
    # What is behind the ends would change any result.
    x = np.random.default_rng(0).integers(-8, 9, (low + rows + 5, columns)).astype(np.float32)
    ends = [*range(low - 2, low + rows + 2)]
    expected = []
    for end in ends:
        own = x[low : max(min(end, low + rows), low)]
        top = np.maximum(own.max(0, initial=-np.inf), -2)
        expected.append(np.exp(own - top).sum(0))
        least = 0.5 if len(own) < rows else 0
        expected.append(np.maximum(np.exp(own.max(0, initial=-np.inf)), least))
    KernelRunner(tmp_path)(
        softmax_of_columns,
        grid=(len(ends),),
        vlen_bits=vlen_bits,
        x_ptr=x,
        ends_ptr=np.array(ends, np.int32),
        out_ptr=Expected(np.stack(expected).astype(np.float32), rtol=1e-6),
        low=low, ROWS=rows, COLUMNS=columns,
    )  # fmt: skip
