"""The verifier passes IR that is whole, and names what is wrong with IR that is not."""

from __future__ import annotations

import pytest
from ir_text import function

from triton_rvv.frontend.ttir import Operation, Value, parse_module
from triton_rvv.frontend.ttir_verifier import InvalidIRError, verify
from triton_rvv.frontend.types import ScalarType

SUM = """({
  ^bb0(%a: f32, %b: f32):
    %c = "arith.addf"(%a, %b) : (f32, f32) -> f32
    "tt.reduce.return"(%c) : (f32) -> ()
  })"""
WHOLE = f"""
%at = "tt.make_range"() {{end = 8, start = 0}} : () -> tensor<8xi32>
%p = "tt.splat"(%x) : (!tt.ptr<f32>) -> tensor<8x!tt.ptr<f32>>
%q = "tt.addptr"(%p, %at) : (tensor<8x!tt.ptr<f32>>, tensor<8xi32>) -> tensor<8x!tt.ptr<f32>>
%m = "tt.splat"(%n) : (i32) -> tensor<8xi32>
%mask = "arith.cmpi"(%at, %m) {{predicate = 2}} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
%v = "tt.load"(%q, %mask) : (tensor<8x!tt.ptr<f32>>, tensor<8xi1>) -> tensor<8xf32>
%w:2 = "scf.for"(%n, %n, %n, %v, %q) ({{
^bb0(%i: i32, %total: tensor<8xf32>, %r: tensor<8x!tt.ptr<f32>>):
  %new = "arith.addf"(%total, %v) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  "scf.yield"(%new, %r) : (tensor<8xf32>, tensor<8x!tt.ptr<f32>>) -> ()
}}) : (i32, i32, i32, tensor<8xf32>, tensor<8x!tt.ptr<f32>>)
  -> (tensor<8xf32>, tensor<8x!tt.ptr<f32>>)
%s = "tt.reduce"(%w#0) {SUM} {{axis = 0}} : (tensor<8xf32>) -> f32
%t = "tt.splat"(%s) : (f32) -> tensor<8xf32>
"tt.store"(%q, %t, %mask) : (tensor<8x!tt.ptr<f32>>, tensor<8xf32>, tensor<8xi1>) -> ()
"""


def test_a_whole_kernel():
    verify(parse_module(function(WHOLE)))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("end = 8", "end = 9", "%at = tt.make_range: the result has not 9 elements"),
        ("(%x) : (!tt.ptr<f32>)", "(%n) : (i32)", "i32 does not fill tensor<8x!tt.ptr<f32>>"),
        ("(%p, %at)", "(%at, %at)", "moves tensor<8xi32> to"),
        ("(%q, %mask) : (", "(%q, %at) : (", "the mask is tensor<8xi32>"),
        ("-> tensor<8xi1>\n", "-> tensor<8xi8>\n", "a comparison gives i1, not tensor<8xi8>"),
        ("(%total, %v)", "(%total, %at)", "operands and results differ"),
        ("(%new, %r)", "(%new)", r"the region gives tensor<8xf32>, not"),
        ("(%n, %n, %n, %v", "(%n, %wide, %n, %v", "bounds and counter differ: i32, i64"),
        ("-> f32\n%t", "-> tensor<1xf32>\n%t", "the results' shapes do not follow"),
        ("%a: f32, %b: f32", "%a: f32, %b: f32, %d: f32", "the region takes f32, f32, f32"),
        ("(%q, %t, ", "(%q, %at, ", "tensor<8xi32> does not lie at"),
        ('"tt.reduce.return"(%c) : (f32) -> ()', "", "block .* has no terminator"),
    ],
)
def test_what_is_not_whole(old, new, problem):
    text = function(WHOLE)
    assert old in text
    with pytest.raises(InvalidIRError, match=problem):
        verify(parse_module(text.replace(old, new, 1)))


def test_values_of_a_loop_are_not_visible_behind_it():
    module = parse_module(function(WHOLE))
    loop = next(op for op in module.walk() if op.name == "scf.for")
    inside = loop.regions[0].block.operations[0].result
    store = next(op for op in module.walk() if op.name == "tt.store")
    store.operands[1].uses -= 1
    store.operands[1] = inside
    inside.uses += 1
    with pytest.raises(InvalidIRError, match=r"tt\.store: %new is not defined before this use"):
        verify(module)


def test_uses_that_are_not_counted():
    module = parse_module(function(WHOLE))
    next(op for op in module.walk() if op.name == "tt.load").result.uses += 1
    with pytest.raises(InvalidIRError, match="%v counts 3 uses and has 2"):
        verify(module)


BRANCHES = """
%c = "arith.cmpi"(%n, %n) {{predicate = 2}} : (i32, i32) -> i1
"cf.cond_br"(%c)[^bb1, ^bb2] {{operandSegmentSizes = [1, 0, 0]}} : (i1) -> ()
^bb1():
%one = "arith.addi"(%n, %n) : (i32, i32) -> i32
"cf.br"()[^bb2] : () -> ()
^bb2():
%two = "arith.addi"({}, %n) : (i32, i32) -> i32
"""


def test_a_block_sees_only_those_on_every_way_to_it():
    verify(parse_module(function(BRANCHES.format("%n"))))
    with pytest.raises(InvalidIRError, match="%one is not defined before this use"):
        verify(parse_module(function(BRANCHES.format("%one"))))


def test_a_terminator_inside_a_block():
    module = parse_module(function(WHOLE))
    block = module.regions[0].block.operations[0].regions[0].block
    block.operations.insert(0, Operation("tt.return", [], [], {}, [], []))
    with pytest.raises(InvalidIRError, match="stands inside a block"):
        verify(module)


def test_a_name_that_is_taken():
    module = parse_module(function(WHOLE))
    block = module.regions[0].block.operations[0].regions[0].block
    other = Value("%n", ScalarType("i32"))
    made = Operation("arith.constant", [], [other], {"value": 1}, [], [])
    block.operations.insert(0, made)
    with pytest.raises(InvalidIRError, match="%n is defined twice"):
        verify(module)
