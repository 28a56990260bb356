"""Kinds of numbers that are counted one number after another."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_passes import after
from qemu_kernels import Expected

from triton_rvv.lowering.ttir.counted_kinds import COUNT

_TRUTHS = """
    %rows = "tt.make_range"() {end = 32, start = 0} : () -> tensor<32xi32>
    %to = "tt.splat"(%x) : (!tt.ptr<f32>) -> tensor<32x!tt.ptr<f32>>
    %from = "tt.addptr"(%to, %rows)
      : (tensor<32x!tt.ptr<f32>>, tensor<32xi32>) -> tensor<32x!tt.ptr<f32>>
    %loaded = "tt.load"(%from) {isVolatile = false, operandSegmentSizes = [1, 0, 0]}
      : (tensor<32x!tt.ptr<f32>>) -> tensor<32xf32>
    %numbers = "arith.fptosi"(%loaded) : (tensor<32xf32>) -> tensor<32xi32>
    %up = "tt.expand_dims"(%numbers) {axis = 1} : (tensor<32xi32>) -> tensor<32x1xi32>
    %each = "tt.broadcast"(%up) : (tensor<32x1xi32>) -> tensor<32x16xi32>
    %line = "tt.make_range"() {end = 16, start = 0} : () -> tensor<16xi32>
    %row = "tt.expand_dims"(%line) {axis = 0} : (tensor<16xi32>) -> tensor<1x16xi32>
    %all = "tt.broadcast"(%row) : (tensor<1x16xi32>) -> tensor<32x16xi32>
    %is = "arith.cmpi"(%each, %all) {predicate = 0}
      : (tensor<32x16xi32>, tensor<32x16xi32>) -> tensor<32x16xi1>
    %ones = "arith.extui"(%is) : (tensor<32x16xi1>) -> tensor<32x16xi32>"""
_COUNT = """
    %count = "tt.reduce"(%ones) ({
    ^bb0(%a: i32, %b: i32):
      %c = "arith.addi"(%a, %b) : (i32, i32) -> i32
      "tt.reduce.return"(%c) : (i32) -> ()
    }) {axis = 0} : (tensor<32x16xi32>) -> tensor<16xi32>
    %floats = "arith.sitofp"(%count) : (tensor<16xi32>) -> tensor<16xf32>
    %out = "tt.splat"(%y) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    "tt.store"(%out, %floats) : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>) -> ()"""
_RANK = """
    %zero = "arith.constant"() {value = dense<0> : tensor<32x16xi32>} : () -> tensor<32x16xi32>
    %totals = "tt.scan"(%ones) ({
    ^bb0(%d: i32, %e: i32):
      %f = "arith.addi"(%d, %e) : (i32, i32) -> i32
      "tt.scan.return"(%f) : (i32) -> ()
    }) {axis = 0, reverse = false} : (tensor<32x16xi32>) -> tensor<32x16xi32>
    %own = "arith.select"(%is, %totals, %zero)
      : (tensor<32x16xi1>, tensor<32x16xi32>, tensor<32x16xi32>) -> tensor<32x16xi32>
    %rank = "tt.reduce"(%own) ({
    ^bb0(%g: i32, %h: i32):
      %i = "arith.addi"(%g, %h) : (i32, i32) -> i32
      "tt.reduce.return"(%i) : (i32) -> ()
    }) {axis = 1} : (tensor<32x16xi32>) -> tensor<32xi32>
    %places = "arith.sitofp"(%rank) : (tensor<32xi32>) -> tensor<32xf32>
    "tt.store"(%from, %places) : (tensor<32x!tt.ptr<f32>>, tensor<32xf32>) -> ()"""


@pytest.mark.parametrize(("text", "fires"), [(_COUNT, 1), (_RANK, 1), (_COUNT + _RANK, 2)])
def test_sums_and_running_totals_of_all_kinds_are_one_count(text, fires):
    fired, module = after("count-kinds", _TRUTHS + text)
    names = [each.name for each in module.walk()]
    assert (fired, names.count(COUNT)) == (fires, 1)
    assert not {"tt.scan", "tt.reduce"} & {*names}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(_TRUTHS.replace("predicate = 0", "predicate = 2") + _COUNT, id="less"),
        pytest.param(_TRUTHS.replace("16", "8") + _COUNT.replace("16", "8"), id="few-kinds"),
        pytest.param(_TRUTHS + _COUNT.replace("addi", "maxsi"), id="the-most"),
        pytest.param(_TRUTHS + _RANK.replace("reverse = false", "reverse = true"), id="backwards"),
        pytest.param(_TRUTHS.replace('"tt.broadcast"(%row)', '"tt.broadcast"(%up)').replace(
            "%up) : (tensor<1x16xi32>)", "%up) : (tensor<32x1xi32>)") + _COUNT, id="no-kinds"),
    ],
)  # fmt: skip
def test_other_sums_stay(text):
    assert after("count-kinds", text)[0] == 0


@triton.jit
def kinds_kernel(x_ptr, rank_ptr, count_ptr, share_ptr, N, FIRST, R: tl.constexpr, K: tl.constexpr):
    """Ranks over several blocks of numbers, counts, and shares as floats."""
    kinds = tl.arange(0, K)
    count = tl.zeros((K,), dtype=tl.int32)
    share = tl.zeros((K,), dtype=tl.float32)
    for start in range(0, N, R):
        at = start + tl.arange(0, R)
        x = tl.load(x_ptr + at, mask=at < N, other=0) - FIRST
        is_of = (x[:, None] == kinds[None, :]) & (at < N)[:, None]
        ones = is_of.to(tl.int32)
        before = tl.cumsum(ones, axis=0) - ones + count[None, :]
        tl.store(rank_ptr + at, tl.sum(tl.where(is_of, before + 1, 0), axis=1), mask=at < N)
        count += tl.sum(ones, axis=0)
        later = (tl.arange(K, 2 * K)[:, None] == x[None, :]) & (at < N)[None, :]
        share += tl.sum(later.to(tl.float32), axis=1)
    tl.store(count_ptr + kinds, count)
    tl.store(share_ptr + kinds, share)


@pytest.mark.parametrize(("block", "kinds", "size"), [(32, 16, 100), (64, 4, 64), (16, 64, 37)])
@pytest.mark.parametrize("first", [0, -3])
def test_counts_and_ranks_are_those_of_comparisons(run, block, kinds, size, first):
    """Numbers below the first kind and beyond the last are of none."""
    generator = np.random.default_rng(8)
    x = generator.integers(first - 3, first + 2 * kinds + 3, size).astype(np.int32)
    x[:4] = [2**31 - 1, -(2**31), first, first + kinds]
    wide = (x.astype(np.int64) - first + 2**31) % 2**32 - 2**31
    is_of = wide[:, None] == np.arange(kinds)
    ranks = (is_of.cumsum(0) * is_of).sum(1)
    share = (wide[:, None] == np.arange(kinds, 2 * kinds)).sum(0)
    run(
        kinds_kernel,
        x_ptr=x,
        rank_ptr=Expected(ranks.astype(np.int32)),
        count_ptr=Expected(is_of.sum(0).astype(np.int32)),
        share_ptr=Expected(share.astype(np.float32)),
        N=size,
        FIRST=first,
        R=block,
        K=kinds,
    )


_OF_LOOP = (
    _TRUTHS
    + """
    %start = "arith.constant"() {value = 0 : i32} : () -> i32
    %next = "arith.constant"() {value = 1 : i32} : () -> i32
    %last:2 = "scf.for"(%start, %n, %next, %ones, %ones) ({
    ^bb0(%k: i32, %one: tensor<32x16xi32>, %other: tensor<32x16xi32>):
      "scf.yield"(%other, %one) : (tensor<32x16xi32>, tensor<32x16xi32>) -> ()
    }) : (i32, i32, i32, tensor<32x16xi32>, tensor<32x16xi32>)
      -> (tensor<32x16xi32>, tensor<32x16xi32>)"""
)


def test_sums_of_what_a_loop_gives_stay():
    text = _OF_LOOP + _COUNT.replace("(%ones)", "(%last#1)")
    assert after("count-kinds", text)[0] == 0
