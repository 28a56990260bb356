"""Lines that are made of several arrays and that a loop asks for: computed once, before it."""

from __future__ import annotations

import pytest
from ir_text import function

from triton_rvv.frontend.ttir import parse_module
from triton_rvv.lowering import lower_module
from triton_rvv.targets.target import RVVTarget

# In each turn, every row of a block at y becomes a line that is made of two others.
LOOP = """
%zero = "arith.constant"() {value = 0} : () -> i32
%one = "arith.constant"() {value = 1} : () -> i32
%j = "tt.make_range"() {end = 64, start = 0} : () -> tensor<64xi32>
%more = "arith.constant"() {value = dense<64> : tensor<64xi32>} : () -> tensor<64xi32>
%j2 = "arith.addi"(%j, %more) : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi32>
%xs = "tt.splat"(%x) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
%p = "tt.addptr"(%xs, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
%q = "tt.addptr"(%xs, %j2) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
%a = "tt.load"(%p) : (tensor<64x!tt.ptr<f32>>) -> tensor<64xf32>
%b = "tt.load"(%q) : (tensor<64x!tt.ptr<f32>>) -> tensor<64xf32>
%c = "arith.mulf"(%a, OTHER) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
%d = "arith.addf"(%c, %a) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
%d1 = "tt.expand_dims"(%d) {axis = 0} : (tensor<64xf32>) -> tensor<1x64xf32>
%rows = "tt.broadcast"(%d1) : (tensor<1x64xf32>) -> tensor<4x64xf32>
%j1 = "tt.expand_dims"(%j) {axis = 0} : (tensor<64xi32>) -> tensor<1x64xi32>
%at = "tt.broadcast"(%j1) : (tensor<1x64xi32>) -> tensor<4x64xi32>
"scf.for"(%zero, %n, %one) ({
^bb0(%turn: i32):
  %y1 = "tt.addptr"(%y, %turn) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
  %ys = "tt.splat"(%y1) : (!tt.ptr<f32>) -> tensor<4x64x!tt.ptr<f32>>
  %r = "tt.addptr"(%ys, %at) : (tensor<4x64x!tt.ptr<f32>>, tensor<4x64xi32>) -> tensor<4x64x!tt.ptr<f32>>
  "tt.store"(%r, %rows) : (tensor<4x64x!tt.ptr<f32>>, tensor<4x64xf32>) -> ()
  "scf.yield"() : () -> ()
}) : (i32, i32, i32) -> ()
"""  # noqa: E501


@pytest.mark.parametrize(
    ("other", "count"), [("%b", 1), ("%a", 0)], ids=["two arrays", "one array"]
)
def test_lines_are_kept_that_take_several_arrays(other, count):
    lowered = lower_module(parse_module(function(LOOP.replace("OTHER", other))), RVVTarget())
    assert {each.name: each.count for each in lowered.passes}["keep-joined"] == count


# The same line, which is not repeated: (a * b) + a, or a * b.
LINE = (
    LOOP.replace("OTHER", "%b")
    .replace(
        '"tt.splat"(%y1) : (!tt.ptr<f32>) -> tensor<4x64x',
        '"tt.splat"(%y1) : (!tt.ptr<f32>) -> tensor<64x',
    )
    .replace('"tt.addptr"(%ys, %at)', '"tt.addptr"(%ys, %j)')
    .replace(
        "(tensor<4x64x!tt.ptr<f32>>, tensor<4x64xi32>) -> tensor<4x64x",
        "(tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x",
    )
    .replace(
        "(%r, %rows) : (tensor<4x64x!tt.ptr<f32>>, tensor<4x64xf32>)",
        "(%r, KEPT) : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>)",
    )
)


@pytest.mark.parametrize(("kept", "count"), [("%d", 1), ("%c", 0)], ids=["sum", "product"])
def test_lines_that_are_not_repeated_are_kept_where_they_take_some_arithmetic(kept, count):
    lowered = lower_module(parse_module(function(LINE.replace("KEPT", kept))), RVVTarget())
    assert {each.name: each.count for each in lowered.passes}["keep-joined"] == count
