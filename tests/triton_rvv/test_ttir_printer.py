"""The IR as text: what is printed reads back as the same, and prints as the same again."""

from __future__ import annotations

import re

import pytest
from ir_text import function

from triton_rvv.frontend.ttir import parse_module
from triton_rvv.frontend.ttir_printer import print_ir

# As the printer writes it, each operation of a form that some other one does not have.
PRINTED = """\
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%x: !tt.ptr<f32>, %n: i32):
    %c = "arith.constant"() {value = 0.5 : f32} : () -> f32
    %inf = "arith.constant"() {value = dense<0xFF80> : tensor<4xbf16>} : () -> tensor<4xbf16>
    %far = "arith.constant"() {value = 0x7F800000 : f32} : () -> f32
    %many = "arith.constant"() {value = dense<[1, -2]> : tensor<2xi64>} : () -> tensor<2xi64>
    %p = "tt.splat"(%x) : (!tt.ptr<f32>) -> tensor<4x!tt.ptr<f32>>
    "tt.print"(%n) {a = @f, h = false, l = [1, [2], {}], none, prefix = "\\22%d\\22"} : (i32) -> ()
    %r:2 = "scf.for"(%n, %n, %n, %n, %p) ({
    ^bb0(%i: i32, %a: i32, %q: tensor<4x!tt.ptr<f32>>):
      "scf.yield"(%i, %q) : (i32, tensor<4x!tt.ptr<f32>>) -> ()
    }) : (i32, i32, i32, i32, tensor<4x!tt.ptr<f32>>) -> (i32, tensor<4x!tt.ptr<f32>>)
    %r#0x, %least, %2#1 = "a.b"() ({
    }, {
    }) : () -> (i32, i32, i32)
    "cf.cond_br"(%n, %r#0)[^bb1, ^bb2] {operandSegmentSizes = [1, 1, 0]} : (i32, i32) -> ()
  ^bb1(%z: i32):
    "tt.return"() : () -> ()
  ^bb2():
    "tt.return"() : () -> ()
  }) {sym_name = "kernel"} : () -> ()
}) : () -> ()
""".replace("%r#0x, ", "%largest, ")


def test_printed_text_reads_back():
    assert print_ir(parse_module(PRINTED)) == PRINTED


def test_lines_of_the_kernel_and_notes_are_comments():
    text = function('%0 = "tt.splat"(%n) : (i32) -> tensor<4xi32> loc(#loc)')
    text = f'#loc = loc("/some/folder/add.py":7:0)\n{text}'
    printed = print_ir(parse_module(text), lambda op: "here" if op.name == "tt.splat" else "")
    assert "-> tensor<4xi32> // here add.py:7\n" in printed
    assert print_ir(parse_module(printed)) == re.sub(r" //.*", "", printed)


@pytest.mark.parametrize("text", ["#half{", "@x]", "(", "#arith.overflow<none>", "a \\ b \u00e4\n"])
def test_strings_of_any_kind(text):
    module = parse_module(function('"tt.print"(%n) : (i32) -> ()'))
    operation = next(op for op in module.walk() if op.name == "tt.print")
    operation.attributes["prefix"] = text
    again = parse_module(print_ir(module))
    assert next(op for op in again.walk() if op.name == "tt.print").attributes == {"prefix": text}
