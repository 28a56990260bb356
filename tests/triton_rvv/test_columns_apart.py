"""Blocks of few columns that are computed column by column."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_passes import after
from qemu_kernels import Expected

_BLOCK = """
    %zero = "arith.constant"() {value = dense<0.0> : tensor<64x4xf32>} : () -> tensor<64x4xf32>
    %two = "arith.constant"() {value = dense<2> : tensor<1x4xi32>} : () -> tensor<1x4xi32>
    %rows = "tt.make_range"() {end = 64, start = 0} : () -> tensor<64xi32>
    %four = "arith.constant"() {value = dense<4> : tensor<64xi32>} : () -> tensor<64xi32>
    %ends = "arith.muli"(%rows, %four) : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi32>
    %high = "tt.expand_dims"(%ends) {axis = 1} : (tensor<64xi32>) -> tensor<64x1xi32>
    %down = "tt.broadcast"(%high) : (tensor<64x1xi32>) -> tensor<64x4xi32>
    %line = "tt.make_range"() {end = 4, start = 0} : () -> tensor<4xi32>
    %row = "tt.expand_dims"(%line) {axis = 0} : (tensor<4xi32>) -> tensor<1x4xi32>
    %along = "tt.broadcast"(%row) : (tensor<1x4xi32>) -> tensor<64x4xi32>
    %at = "arith.addi"(%down, %along) : (tensor<64x4xi32>, tensor<64x4xi32>) -> tensor<64x4xi32>
    %to = "tt.splat"(%x) : (!tt.ptr<f32>) -> tensor<64x4x!tt.ptr<f32>>
    %from = "tt.addptr"(%to, %at)
      : (tensor<64x4x!tt.ptr<f32>>, tensor<64x4xi32>) -> tensor<64x4x!tt.ptr<f32>>
    %all = "tt.load"(%from) {isVolatile = false, operandSegmentSizes = [1, 0, 0]}
      : (tensor<64x4x!tt.ptr<f32>>) -> tensor<64x4xf32>
    %here = "arith.cmpi"(%row, %two) {predicate = 0}
      : (tensor<1x4xi32>, tensor<1x4xi32>) -> tensor<1x4xi1>
    %is = "tt.broadcast"(%here) : (tensor<1x4xi1>) -> tensor<64x4xi1>
    %left = "arith.select"(%is, %all, %zero)
      : (tensor<64x4xi1>, tensor<64x4xf32>, tensor<64x4xf32>) -> tensor<64x4xf32>
    %sum = "tt.reduce"(%left) ({
    ^bb0(%a: f32, %b: f32):
      %c = "arith.addf"(%a, %b) : (f32, f32) -> f32
      "tt.reduce.return"(%c) : (f32) -> ()
    }) {axis = 1} : (tensor<64x4xf32>) -> tensor<64xf32>
    %top = "tt.expand_dims"(%sum) {axis = 1} : (tensor<64xf32>) -> tensor<64x1xf32>
    %beside = "tt.broadcast"(%top) : (tensor<64x1xf32>) -> tensor<64x4xf32>
    %new = "arith.subf"(%all, %beside) : (tensor<64x4xf32>, tensor<64x4xf32>) -> tensor<64x4xf32>
    "tt.store"(%from, %new) : (tensor<64x4x!tt.ptr<f32>>, tensor<64x4xf32>) -> ()"""


def test_each_column_is_a_block_of_its_own():
    fired, module = after("take-columns-apart", _BLOCK)
    names = [each.name for each in module.walk()]
    assert fired == 1
    assert (names.count("tt.load"), names.count("tt.store")) == (4, 4)
    assert not {"tt.reduce", "arith.select", "arith.cmpi"} & {*names}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(_BLOCK.replace(
            '%two = "arith.constant"() {value = dense<2> : tensor<1x4xi32>} : ()',
            '%two = "tt.splat"(%n) : (i32)'), id="a-column-that-is-not-known"),
        pytest.param(_BLOCK.replace("%zero)", "%all)"), id="nothing-is-picked"),
        pytest.param(_BLOCK.replace("isVolatile = false", "isVolatile = true"), id="volatile"),
        pytest.param(_BLOCK.replace("64", "4"), id="few-rows"),
        pytest.param(_BLOCK.replace("x4x", "x16x").replace("<4x", "<16x").replace(
            "end = 4", "end = 16"), id="many-columns"),
    ],
)  # fmt: skip
def test_blocks_stay_whole(text):
    assert after("take-columns-apart", text)[0] == 0


@triton.jit
def columns_kernel(x_ptr, y_ptr, sums_ptr, last_ptr, N, TURNS, R: tl.constexpr, C: tl.constexpr):
    """Columns picked, changed, summed, carried by a loop and combined with one another."""
    i, j = tl.arange(0, R), tl.arange(0, C)
    at, inside = i[:, None] * C + j[None, :], (i < N)[:, None]
    x = tl.load(x_ptr + at, mask=inside, other=1).to(tl.float32)
    for k in tl.static_range(C):
        column = tl.sum(tl.where((j == k)[None, :] & inside, x, 0.0), axis=1)
        along = tl.sum(x * column[:, None], axis=0)
        x = tl.where((j > k)[None, :], x - along[None, :] * 0.0625, x)
        x = tl.where(j[None, :] == k, column[:, None] + k, x)
    for turn in range(TURNS):
        most = tl.max(tl.where((j < C - 1)[None, :], x, float("-inf")), axis=1)
        x = tl.where((j * 2 == turn)[None, :], x + most[:, None], x * 0.5)
    tl.store(y_ptr + at, x, mask=inside)
    tl.store(sums_ptr + j, tl.sum(x, axis=0) + tl.sum(x, axis=0) * j)
    tl.store(last_ptr + i, tl.sum(tl.where((j == C - 1)[None, :], x, 0.0), axis=1), mask=i < N)


@pytest.mark.parametrize(("rows", "columns", "size"), [(64, 4, 50), (32, 2, 32), (16, 8, 11)])
@pytest.mark.parametrize("kind", [np.float32, np.int8])
def test_columns_apart_are_what_they_were_together(run, rows, columns, size, kind):
    generator = np.random.default_rng(4)
    x = generator.integers(-3, 4, (size, columns)).astype(kind)
    value = np.ones((rows, columns))
    value[:size] = x
    inside = np.arange(rows) < size
    for k in range(columns):
        column = np.where(inside, value[:, k], 0.0)
        along = (value * column[:, None]).sum(0)
        value[:, k + 1 :] -= along[k + 1 :] * 0.0625
        value[:, k] = column + k
    for turn in range(5):
        most = value[:, : columns - 1].max(1)
        chosen = np.arange(columns) * 2 == turn
        value = np.where(chosen, value + most[:, None], value * 0.5)
    sums = value.sum(0) * (1 + np.arange(columns))
    run(
        columns_kernel,
        x_ptr=x,
        y_ptr=Expected(value[:size].astype(np.float32), rtol=1e-3, atol=1e-3),
        sums_ptr=Expected(sums.astype(np.float32), rtol=1e-3, atol=1e-2),
        last_ptr=Expected(value[:size, -1].astype(np.float32), rtol=1e-3, atol=1e-3),
        N=size,
        TURNS=5,
        R=rows,
        C=columns,
    )
