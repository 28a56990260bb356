"""Elements that a comparison with places picks from rows."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_passes import after, only
from qemu_kernels import Expected

from triton_rvv.lowering.ttir.picked_values import PICK, PICKED

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
        pytest.param(_BLOCK.replace("isVolatile = false", "isVolatile = true") + _EQUAL + _SUM,
                     id="volatile"),
    ],
)  # fmt: skip
def test_rows_are_reduced_where_no_one_element_counts(text):
    assert after("pick-elements", text)[0] == 0


def test_an_element_is_taken_from_a_block_that_is_kept_since_memory_is_written():
    fired, module = after("pick-elements", _BLOCK + _WRITTEN + _EQUAL + _SUM)
    names = [each.name for each in module.walk()]
    assert (fired, names.count("tt.load"), "tt.reduce" in names) == (1, 1, False)
    assert only(module, PICK).integers("along") == [0, PICKED]


_MADE_NUMBERS = """
    %ones = "arith.extui"(%is) : (tensor<4x16xi1>) -> tensor<4x16xi32>
    %none = "arith.constant"() {value = dense<0> : tensor<4x16xi32>} : () -> tensor<4x16xi32>
    %is_one = "arith.cmpi"(%ones, %none) {predicate = 1}
      : (tensor<4x16xi32>, tensor<4x16xi32>) -> tensor<4x16xi1>"""


def test_truths_may_have_been_numbers():
    text = _BLOCK + _EQUAL + _MADE_NUMBERS + _SUM.replace("(%is,", "(%is_one,")
    assert after("pick-elements", text)[0] == 1


_LEAST = _SUM.replace("addf", "minnumf")


@pytest.mark.parametrize(("text", "fires"), [
    (_BLOCK + _EQUAL + _LEAST, 1),
    (_BLOCK + _EQUAL + _LEAST.replace("%zero", "%all"), 0),
])  # fmt: skip
def test_least_elements_are_picked_where_one_number_is_in_all_other_places(text, fires):
    assert after("pick-elements", text)[0] == fires


_CARRIED = """
    %start = "arith.constant"() {value = 0 : i32} : () -> i32
    %next = "arith.constant"() {value = 1 : i32} : () -> i32
    %last = "scf.for"(%start, %n, %next, %zero) ({
    ^bb0(%k: i32, %kept: tensor<4x16xf32>):
      %ks = "tt.splat"(%k) : (i32) -> tensor<1x16xi32>
      %here = "arith.cmpi"(%row, %ks) {predicate = 0}
        : (tensor<1x16xi32>, tensor<1x16xi32>) -> tensor<1x16xi1>
      %is = "tt.broadcast"(%here) : (tensor<1x16xi1>) -> tensor<4x16xi1>
      %left = "arith.select"(%is, %kept, %zero)
        : (tensor<4x16xi1>, tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
      %sum = "tt.reduce"(%left) ({
      ^bb0(%a: f32, %b: f32):
        %c = "arith.addf"(%a, %b) : (f32, f32) -> f32
        "tt.reduce.return"(%c) : (f32) -> ()
      }) {axis = 1} : (tensor<4x16xf32>) -> tensor<4xf32>
      %up = "tt.expand_dims"(%sum) {axis = 1} : (tensor<4xf32>) -> tensor<4x1xf32>
      %beside = "tt.broadcast"(%up) : (tensor<4x1xf32>) -> tensor<4x16xf32>
      %new = "arith.addf"(%all, %beside)
        : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
      "scf.yield"(%new) : (tensor<4x16xf32>) -> ()
    }) : (i32, i32, i32, tensor<4x16xf32>) -> tensor<4x16xf32>
    "tt.store"(%from, %last) : (tensor<4x16x!tt.ptr<f32>>, tensor<4x16xf32>) -> ()"""


def test_a_column_is_taken_from_the_block_that_a_loop_carries():
    fired, module = after("pick-elements", _BLOCK + _CARRIED)
    assert fired == 1
    pick = only(module, PICK)
    assert (pick.operands[0].name, pick.operands[1].shape) == ("%kept", ())


@triton.jit
def eliminated_kernel(x_ptr, y_ptr, least_ptr, N, STEP, OFF, R: tl.constexpr, C: tl.constexpr):
    """Rows and columns of a block that is carried, at places some of which are outside of it."""
    i, j = tl.arange(0, R), tl.arange(0, C)
    x = tl.load(x_ptr + i[:, None] * C + j[None, :]).to(tl.float32)
    lines = tl.zeros((C,), dtype=tl.float32)
    least = tl.full((R,), float("inf"), dtype=tl.float32)
    for n in range(N):
        k = n * STEP - OFF
        row = tl.sum(tl.where(i[:, None] == k, x, 0.0), axis=0)
        one = tl.sum(tl.where(j == k, row, 0.0), axis=0)
        own = tl.sum(tl.where((i * 3)[:, None] - j[None, :] == k, x, 0.0), axis=1)
        least = tl.minimum(least, tl.min(tl.where((j == k)[None, :], x, 9.0), axis=1))
        lines += row
        x = 0.5 * x + 0.25 * row[None, :] - own[:, None] + one
    tl.store(y_ptr + i[:, None] * C + j[None, :], x + lines[None, :])
    tl.store(least_ptr + i, least)


@pytest.mark.parametrize(("rows", "columns"), [(16, 32), (8, 4), (32, 16)])
@pytest.mark.parametrize(("step", "off"), [(1, 3), (-2, -9)])
@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_columns_of_carried_blocks_are_what_sums_would_give(run, rows, columns, step, off, kind):
    generator = np.random.default_rng(3)
    x = generator.integers(-4, 5, (rows, columns)).astype(kind)
    value, lines = x.astype(np.float64), np.zeros(columns)
    least = np.full(rows, np.inf)
    i, j = np.arange(rows)[:, None], np.arange(columns)[None, :]
    for n in range(7):
        k = n * step - off
        row = np.where(i == k, value, 0).sum(0)
        one = np.where(j[0] == k, row, 0).sum()
        own = np.where(i * 3 - j == k, value, 0).sum(1)
        least = np.minimum(least, np.where(j == k, value, 9.0).min(1))
        lines += row
        value = 0.5 * value + 0.25 * row[None, :] - own[:, None] + one
    run(
        eliminated_kernel,
        x_ptr=x,
        y_ptr=Expected((value + lines).astype(np.float32), rtol=1e-4, atol=1e-4),
        least_ptr=Expected(least.astype(np.float32), rtol=1e-4, atol=1e-4),
        N=7,
        STEP=step,
        OFF=off,
        R=rows,
        C=columns,
    )


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
