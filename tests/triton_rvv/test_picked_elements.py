"""Elements that a comparison with places picks from rows."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_passes import after
from qemu_kernels import Expected

_BLOCK = """
    %zero = "arith.constant"() {value = dense<0.0> : tensor<4x16xf32>} : () -> tensor<4x16xf32>
    %one = "arith.constant"() {value = dense<1.0> : tensor<4x16xf32>} : () -> tensor<4x16xf32>
    %line = "tt.make_range"() {end = 16, start = 0} : () -> tensor<16xi32>
    %row = "tt.expand_dims"(%line) {axis = 0} : (tensor<16xi32>) -> tensor<1x16xi32>
    %at = "tt.broadcast"(%row) : (tensor<1x16xi32>) -> tensor<4x16xi32>
    %rows = "tt.make_range"() {end = 4, start = 0} : () -> tensor<4xi32>
    %column = "tt.expand_dims"(%rows) {axis = 1} : (tensor<4xi32>) -> tensor<4x1xi32>
    %wanted = "tt.broadcast"(%column) : (tensor<4x1xi32>) -> tensor<4x16xi32>
    %to = "tt.splat"(%x) : (!tt.ptr<f32>) -> tensor<4x16x!tt.ptr<f32>>
    %from = "tt.addptr"(%to, %at)
      : (tensor<4x16x!tt.ptr<f32>>, tensor<4x16xi32>) -> tensor<4x16x!tt.ptr<f32>>
    %all = "tt.load"(%from) {isVolatile = false, operandSegmentSizes = [1, 0, 0]}
      : (tensor<4x16x!tt.ptr<f32>>) -> tensor<4x16xf32>"""
_EQUAL = """
    %is = "arith.cmpi"(%wanted, %at) {predicate = 0}
      : (tensor<4x16xi32>, tensor<4x16xi32>) -> tensor<4x16xi1>"""
_SUM = """
    %left = "arith.select"(%is, %all, %zero)
      : (tensor<4x16xi1>, tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %sum = "tt.reduce"(%left) ({
    ^bb0(%a: f32, %b: f32):
      %c = "arith.addf"(%a, %b) : (f32, f32) -> f32
      "tt.reduce.return"(%c) : (f32) -> ()
    }) {axis = 1} : (tensor<4x16xf32>) -> tensor<4xf32>
    %out = "tt.splat"(%y) : (!tt.ptr<f32>) -> tensor<4x!tt.ptr<f32>>
    "tt.store"(%out, %sum) : (tensor<4x!tt.ptr<f32>>, tensor<4xf32>) -> ()"""
_WRITTEN = """
    "tt.store"(%from, %one) : (tensor<4x16x!tt.ptr<f32>>, tensor<4x16xf32>) -> ()"""


def test_one_element_is_loaded_in_place_of_a_row():
    fired, module = after("pick-elements", _BLOCK + _EQUAL + _SUM)
    loads = [each.result.shape for each in module.walk() if each.name == "tt.load"]
    names = [each.name for each in module.walk()]
    assert (fired, loads, "tt.reduce" in names) == (1, [(4,)], False)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(_BLOCK + _EQUAL.replace("predicate = 0", "predicate = 1") + _SUM, id="others"),
        pytest.param(_BLOCK + _EQUAL + _SUM.replace("%zero", "%one"), id="more-than-zero"),
        pytest.param(_BLOCK + _EQUAL + _SUM.replace("addf", "mulf"), id="a-product"),
        pytest.param(_BLOCK + _EQUAL.replace("%wanted", "%at") + _SUM, id="each-place"),
        pytest.param(_BLOCK + _EQUAL.replace("%at", "%wanted") + _SUM, id="no-place"),
        pytest.param(_BLOCK + _WRITTEN + _EQUAL + _SUM, id="written-since"),
        pytest.param(_BLOCK.replace("isVolatile = false", "isVolatile = true") + _EQUAL + _SUM,
                     id="volatile"),
    ],
)  # fmt: skip
def test_rows_are_reduced_where_no_one_element_counts(text):
    assert after("pick-elements", text)[0] == 0


@triton.jit
def picked_kernel(x_ptr, at_ptr, y_ptr, k_ptr, M, START, R: tl.constexpr, N: tl.constexpr):
    """Of rows, the element in a place that each says, by a choice and by a product."""
    row, column = tl.arange(0, R), tl.arange(0, N)
    at = tl.load(at_ptr + row)
    x = tl.load(x_ptr + row[:, None] * M + column[None, :], mask=column[None, :] < M, other=-5.0)
    places = START + column
    is_at = at[:, None] == places[None, :]
    y = tl.sum(tl.where(is_at & (row < R - 1)[:, None], x.to(tl.float32) + row[:, None], 0.0), 1)
    tl.store(y_ptr + row, y)
    tl.store(k_ptr + row, tl.sum(is_at.to(tl.int32) * (column * 3 + 1)[None, :], 1))


@pytest.mark.parametrize("wide", [np.int32, np.int64])
@pytest.mark.parametrize("start", [0, 7, -(2**31), 2**31 - 20])
def test_what_is_picked_is_what_a_row_would_give(run, start, wide):
    """Places before, behind and far from the row, in memory that holds no more than is read."""
    rows, size, block = 16, 27, 32
    generator = np.random.default_rng(6)
    x = generator.standard_normal((rows, size)).astype(np.float16)
    x[3] = np.nan
    places = np.array([0, 1, 26, 5, 27, 31, 32, -1, 2**31 - 1, -(2**31), 12, 9, 3, 2, 30, 4])
    at = places if start == 0 else (places + start)
    limits = np.iinfo(wide)
    at = np.clip(at, limits.min, limits.max).astype(wide)
    lanes = (start + np.arange(block)).astype(np.int64)
    lanes = (lanes + 2**31) % 2**32 - 2**31
    padded = np.full((rows, block), -5.0, np.float32)
    padded[:, :size] = x
    hit = at.astype(np.int64)[:, None] == lanes[None, :]
    y = np.where(hit & (np.arange(rows) < rows - 1)[:, None],
                 padded + np.arange(rows)[:, None], 0).sum(1)  # fmt: skip
    run(
        picked_kernel,
        x_ptr=x,
        at_ptr=at,
        y_ptr=Expected(y.astype(np.float32)),
        k_ptr=Expected((hit * (np.arange(block) * 3 + 1)).sum(1).astype(np.int32)),
        M=size,
        START=start,
        R=rows,
        N=block,
    )
