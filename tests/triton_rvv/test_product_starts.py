"""Products that are added to a block of memory: it is read without masks where they hold."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pytest
from ir_text import function
from qemu_kernels import Expected

from kernels.registry import load_kernel
from triton_rvv.frontend.ttir import parse_module
from triton_rvv.lowering import lower_module
from triton_rvv.targets.target import RVVTarget

KERNEL = load_kernel("benchmarks/compiler/hand/common_sums.py:low_rank_residual").kernel
# y += 1 @ 1 in blocks of 16 x 32, the first `%n` columns of y.
RESIDUAL = """
%ones = "arith.constant"() {value = dense<1.0> : tensor<16x8xf32>} : () -> tensor<16x8xf32>
%others = "arith.constant"() {value = dense<1.0> : tensor<8x32xf32>} : () -> tensor<8x32xf32>
%zeros = "arith.constant"() {value = dense<0.0> : tensor<16x32xf32>} : () -> tensor<16x32xf32>
%i = "tt.make_range"() {end = 16, start = 0} : () -> tensor<16xi32>
%j = "tt.make_range"() {end = 32, start = 0} : () -> tensor<32xi32>
%j1 = "tt.expand_dims"(%j) {axis = 0} : (tensor<32xi32>) -> tensor<1x32xi32>
%ns = "tt.splat"(%n) : (i32) -> tensor<1x32xi32>
%m1 = "arith.cmpi"(%j1, %ns) {predicate = 2} : (tensor<1x32xi32>, tensor<1x32xi32>) -> tensor<1x32xi1>
%m = "tt.broadcast"(%m1) : (tensor<1x32xi1>) -> tensor<16x32xi1>
%i1 = "tt.expand_dims"(%i) {axis = 1} : (tensor<16xi32>) -> tensor<16x1xi32>
%steps = "arith.constant"() {value = dense<100> : tensor<16x1xi32>} : () -> tensor<16x1xi32>
%i2 = "arith.muli"(%i1, %steps) : (tensor<16x1xi32>, tensor<16x1xi32>) -> tensor<16x1xi32>
%i3 = "tt.broadcast"(%i2) : (tensor<16x1xi32>) -> tensor<16x32xi32>
%j3 = "tt.broadcast"(%j1) : (tensor<1x32xi32>) -> tensor<16x32xi32>
%at = "arith.addi"(%i3, %j3) : (tensor<16x32xi32>, tensor<16x32xi32>) -> tensor<16x32xi32>
%ys = "tt.splat"(%y) : (!tt.ptr<f32>) -> tensor<16x32x!tt.ptr<f32>>
%p = "tt.addptr"(%ys, %at) : (tensor<16x32x!tt.ptr<f32>>, tensor<16x32xi32>) -> tensor<16x32x!tt.ptr<f32>>
%before = "tt.load"(%p, %m) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x32x!tt.ptr<f32>>, tensor<16x32xi1>) -> tensor<16x32xf32>
%after = "tt.dot"(%ones, %others, %before) {inputPrecision = 2, maxNumImpreciseAcc = 0} : (tensor<16x8xf32>, tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
"tt.store"(%p, %after, %m) : (tensor<16x32x!tt.ptr<f32>>, tensor<16x32xf32>, tensor<16x32xi1>) -> ()
"""  # noqa: E501


def written(body: str, skipped: Collection[str] = ()) -> tuple[int, int]:
    """How often the rule holds, and how many lines the code asks for ahead."""
    lowered = lower_module(parse_module(function(body)), RVVTarget(), skipped_passes=skipped)
    counts = {each.name: each.count for each in lowered.passes}
    return counts["begin-plainly"], lowered.llir.count("call void @llvm.prefetch")


def test_tiles_ask_for_what_those_below_begin_with():
    (count, lines), (_, others) = written(RESIDUAL), written(RESIDUAL, ["begin-plainly"])
    assert count == 1
    assert lines >= others + 8


def test_sums_that_begin_with_numbers_stay_as_they_are():
    assert written(RESIDUAL.replace("%others, %before)", "%others, %zeros)"))[0] == 0


@pytest.mark.parametrize(("rows", "columns"), [(13, 50), (32, 64), (16, 35)])
def test_matrices_that_end_inside_of_tiles(run, rows, columns):
    random = np.random.default_rng(rows * columns)
    shapes = ((rows, 8), (8, columns), (rows, columns))
    left, right, x = (random.integers(-8, 8, shape).astype(np.float32) for shape in shapes)
    out = Expected(x + left @ right)
    blocks = {"R": 8, "BM": 16, "BN": 32}
    grid = (-(-rows // 16), -(-columns // 32), 1)
    arrays = {"left_ptr": left, "right_ptr": right, "x_ptr": x, "out_ptr": out}
    run(KERNEL, **arrays, M=rows, N=columns, **blocks, grid=grid)
