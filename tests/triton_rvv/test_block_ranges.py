"""Between which integers the number lies that a loop counts."""

from __future__ import annotations

import pytest
from ir_text import function

from triton_rvv.frontend.ttir import parse_module
from triton_rvv.lowering.ttir.block_ranges import ranges_of_blocks


def _number(number: int) -> str:
    return f'"arith.constant"() {{value = {number} : i32}} : () -> i32'


_SUM = '"arith.addi"(%n, %n) : (i32, i32) -> i32'
_BYTE = '"arith.extsi"(%byte) : (i8) -> i32'
_LOOP = """
%from = FROM
%to = TO
%by = "arith.constant"() {value = 7 : i32} : () -> i32
"scf.for"(%from, %to, %by) ({
^bb0(%turn: i32):
  "scf.yield"() : () -> ()
}) {ATTRIBUTES} : (i32, i32, i32) -> ()
"""


@pytest.mark.parametrize(
    ("start", "end", "attributes", "expected"),
    [
        (_number(0), _number(9), "", (0, 8)),
        (_number(-4), _number(-3), "", (-4, -4)),
        (_number(5), _number(3), "", (5, 5)),  # no turn
        (_number(3), _BYTE, "", (3, 126)),
        (_BYTE, _number(9), "", (-128, 8)),
        (_BYTE, _BYTE, "", (-128, 126)),
        (_number(0), _SUM, "", None),
        (_number(0), _number(-1), "unsignedCmp = true", None),
    ],
)
def test_numbers_of_turns(start, end, attributes, expected):
    text = _LOOP.replace("FROM", start).replace("TO", end).replace("ATTRIBUTES", attributes)
    (kernel,) = parse_module(function(text, "%n: i32, %byte: i8")).regions[0].block.operations
    (loop,) = (each for each in kernel.walk() if each.name == "scf.for")
    found = ranges_of_blocks(kernel).get(loop.regions[0].block.arguments[0])
    assert found == expected
