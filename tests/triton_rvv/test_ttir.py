"""The reader of MLIR's generic text, and what it says of text that it cannot read."""

from __future__ import annotations

import math
import struct

import pytest
import triton

from triton_rvv.errors import CompileError
from triton_rvv.frontend.attributes import DenseAttribute, parse_attribute
from triton_rvv.frontend.ttir import parse_module
from triton_rvv.frontend.types import PointerType, ScalarType, TensorType, parse_type

MODULE = """
#loc = loc("kernel.py":10:0)
#loc1 = loc("kernel.py":12:4)
#loc2 = loc("helpers.py":3:8)
#loc3 = loc(callsite(#loc2 at #loc1))
#loc4 = loc("total"(#loc1))
#loc5 = loc("LIBRARY":9:8)
#loc6 = loc(callsite(#loc5 at #loc3))
"builtin.module"() ({
  "tt.func"() <{arg_attrs = [{tt.divisibility = 16 : i32}, {}],
      function_type = (!tt.ptr<f32>, i32) -> (), sym_name = "add_kernel",
      sym_visibility = "public"}> ({
  ^bb0(%x_ptr: !tt.ptr<f32> loc("x_ptr"(#loc)), %n: i32 loc("n"(#loc))):
    // a comment: "not.an_op"() (
    %c0 = "arith.constant"() <{value = 0 : i32}> : () -> i32 loc(#loc1)
    %0 = "tt.splat"(%x_ptr) : (!tt.ptr<f32>) -> tensor<4x!tt.ptr<f32>> loc(#loc3)
    %1:2 = "scf.for"(%c0, %n, %n, %c0, %0) ({
    ^bb0(%i: i32 loc("i"(#loc1)), %a: i32 loc(unknown), %p: tensor<4x!tt.ptr<f32>>):  // no preds
      "scf.yield"(%i, %p) : (i32, tensor<4x!tt.ptr<f32>>) -> ()
    }) {tt.num_stages = 2 : i32, flag} : (i32, i32, i32, i32, tensor<4x!tt.ptr<f32>>)
        -> (i32, tensor<4x!tt.ptr<f32>>) loc(#loc4)
    %2 = "arith.addi"(%1#0, %1#0) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        loc(#loc6)
    "cf.cond_br"(%2, %1#1)[^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 1, 0>}>
        : (i32, tensor<4x!tt.ptr<f32>>) -> () loc(#loc1)
  ^bb1(%3: i32):  // pred: ^bb0
    "tt.return"() : () -> () loc(#loc1)
  ^bb2:  // pred: ^bb0
    "tt.return"() : () -> () loc(#loc1)
  }) {noinline = false} : () -> () loc(#loc)
}) {print_generic} : () -> () loc(#loc)
"""

MODULE = MODULE.replace("LIBRARY", triton.language.standard.__file__)

POINTERS = TensorType((4,), PointerType(ScalarType("f32")))


@pytest.fixture(scope="module")
def function():
    module = parse_module(MODULE)
    assert "print_generic" in module.attributes
    return module.regions[0].block.operations[0]


def operation(function, name):
    (found,) = (inner for inner in function.walk() if inner.name == name)
    return found


def test_function(function):
    assert function.attributes["sym_name"] == "add_kernel"
    assert function.attributes["arg_attrs"] == [{"tt.divisibility": 16}, {}]
    assert function.attributes["noinline"] is False
    assert function.line == "kernel.py:10"
    arguments = function.regions[0].blocks[0].arguments
    assert [(value.name, value.type) for value in arguments] == [
        ("%x_ptr", PointerType(ScalarType("f32"))),
        ("%n", ScalarType("i32")),
    ]


def test_regions_and_several_results(function):
    loop = operation(function, "scf.for")
    assert [value.type for value in loop.results] == [ScalarType("i32"), POINTERS]
    block = loop.regions[0].block
    assert [value.name for value in block.arguments] == ["%i", "%a", "%p"]
    assert block.operations[-1].operands == [block.arguments[0], block.arguments[2]]
    assert loop.attributes["flag"] is None
    assert loop.integer("tt.num_stages") == 2
    assert operation(function, "arith.addi").operands == [loop.results[0]] * 2


def test_uses_are_counted(function):
    loop = operation(function, "scf.for")
    assert [value.uses for value in loop.results] == [2, 1]
    assert operation(function, "arith.constant").result.uses == 2


def test_blocks_and_successors(function):
    assert [block.label for block in function.regions[0].blocks] == ["bb0", "bb1", "bb2"]
    branch = operation(function, "cf.cond_br")
    assert branch.successors == ["bb1", "bb2"]
    assert branch.edges == [("bb1", branch.operands[1:]), ("bb2", [])]
    assert len(branch.operands) == 2
    assert branch.integers("operandSegmentSizes") == [1, 1, 0]
    with pytest.raises(CompileError, match="several blocks"):
        _ = function.regions[0].block


def test_locations_are_those_of_the_kernel(function):
    assert operation(function, "arith.constant").line == "kernel.py:12"
    assert operation(function, "tt.splat").line == "helpers.py:3"  # in a called function
    assert operation(function, "scf.for").line == "kernel.py:12"  # by way of a name
    # Triton's own function, called there:
    assert operation(function, "arith.addi").line == "helpers.py:3"
    assert operation(function, "scf.yield").line == ""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-7 : i32", -7),
        ("0 : i64", 0),
        ("true", True),
        ("1.500000e+00 : f32", 1.5),
        ("-2.5 : f64", -2.5),
        ("0x7F800000 : f32", math.inf),
        ("0xFF800000 : f32", -math.inf),
        ("0x7FF0000000000000 : f64", math.inf),
        ("0x7C00 : f16", math.inf),
        ("0x3F80 : bf16", 1.0),
        ('"a string, with [brackets}"', "a string, with [brackets}"),
        ("[1 : i32, [2 : i32], {}]", [1, [2], {}]),
        ("array<i32: 1, -2, 3>", [1, -2, 3]),
        ("array<i32>", []),
        ('{a = 1 : i32, "b.c" = "}", d}', {"a": 1, "b.c": "}", "d": None}),
        ("#tt.some<thing>", "#tt.some<thing>"),
    ],
)
def test_attributes(text, value):
    assert parse_attribute(text) == value
    assert type(parse_attribute(text)) is type(value)


@pytest.mark.parametrize("text", ["0x7FC00000 : f32", "0x7FF8000000000000 : f64"])
def test_nan(text):
    value = parse_attribute(text)
    assert isinstance(value, float)
    assert math.isnan(value)


@pytest.mark.parametrize(
    ("text", "shape", "elements"),
    [
        ("dense<0.000000e+00> : tensor<4x8xf32>", (4, 8), (0.0,)),
        ("dense<0xFF800000> : tensor<4xf32>", (4,), (-math.inf,)),
        ("dense<true> : tensor<4xi1>", (4,), (1,)),
        ("dense<[[1, 2], [3, -4]]> : tensor<2x2xi32>", (2, 2), (1, 2, 3, -4)),
        ("dense<5> : tensor<i64>", (), (5,)),
        (f'dense<"0x{struct.pack("<3f", 1, -2, 0.5).hex()}"> : tensor<3xf32>', (3,), (1, -2, 0.5)),
        (f'dense<"0x{struct.pack("<2H", 7, 9).hex().upper()}"> : tensor<2xi16>', (2,), (7, 9)),
    ],
)
def test_dense_constants(text, shape, elements):
    value = parse_attribute(text)
    assert isinstance(value, DenseAttribute)
    assert value.type.shape == shape
    assert value.elements == elements


@pytest.mark.parametrize(
    ("text", "bits", "shape"),
    [
        ("i1", 1, None),
        ("bf16", 16, None),
        ("!tt.ptr<i8>", 64, None),
        ("!tt.ptr<f32, 1>", 64, None),
        ("tensor<2x16x4xf64>", 64, (2, 16, 4)),
        ("tensor<8x!tt.ptr<!tt.ptr<i32>>>", 64, (8,)),
    ],
)
def test_types(text, bits, shape):
    type_ = parse_type(text)
    element = type_.element if isinstance(type_, TensorType) else type_
    assert element.bits == bits
    assert getattr(type_, "shape", None) == shape


def body(operations):
    return '"builtin.module"() ({\n' + operations + "\n}) : () -> ()"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("module { tt.func @f() }", "not in MLIR's generic form"),
        (body("tt.return"), "cannot be read at 'tt.return"),
        (body('"a.b"(3) : () -> ()'), r"cannot be read at '3\)"),
        (body('"a.b"() : () -> !tt.tensordesc<f32>'), "!tt.tensordesc<f32> is not supported"),
        (body('"a.b"() : () -> tensor<4xcomplex<f32>>'), "complex<f32> is not supported"),
        (body('"a.b"() <{v = dense<0> : tensor<4x!tt.ptr<i8>>}> : () -> ()'), "constant of type"),
    ],
)
def test_errors(text, problem):
    with pytest.raises(CompileError, match=problem):
        parse_module(text)


@pytest.mark.parametrize("cut", range(60, len(MODULE) - 30, 97))
def test_text_that_ends_early_is_an_error(cut):
    with pytest.raises(CompileError):
        parse_module(MODULE[:cut])


def test_a_value_that_is_not_defined():
    with pytest.raises(CompileError, match="%nowhere"):
        parse_module(body('"a.b"(%nowhere) : (i32) -> ()'))


def test_attributes_of_the_wrong_kind(function):
    with pytest.raises(CompileError, match=r"tt\.func has no integer attribute sym_name"):
        function.integer("sym_name")
    with pytest.raises(CompileError, match=r"attribute sym_name of tt\.func is not a list"):
        function.integers("sym_name")
    assert function.integer("missing", default=5) == 5
