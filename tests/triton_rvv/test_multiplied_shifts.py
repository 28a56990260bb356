"""Shifts to the left that become products."""

from __future__ import annotations

import pytest
from ir_passes import after, only

from triton_rvv.lowering.ttir.known_integers import one_integer

SHIFT = """
%at = "tt.make_range"() {end = 64, start = 0} : () -> tensor<64xi32>
%e = "arith.trunci"(%at) : (tensor<64xi32>) -> tensor<64xi8>
%k = "arith.constant"() {value = dense<PLACES> : tensor<64xTYPE>} : () -> tensor<64xTYPE>
%s = "arith.shli"(VALUE, %k) : (tensor<64xTYPE>, tensor<64xTYPE>) -> tensor<64xTYPE>
"""


def shift(value: str, type_: str, places: int | list[int]) -> str:
    """A shift of a block by a constant."""
    body = SHIFT.replace("VALUE", value).replace("TYPE", type_)
    return body.replace("PLACES", str(places))


SCALAR_SHIFT = """
%k = "arith.constant"() {value = 8 : i32} : () -> i32
%s = "arith.shli"(%n, %k) : (i32, i32) -> i32
"""


@pytest.mark.parametrize(
    ("body", "shifted", "factor"),
    [
        (shift("%at", "i32", 0), "%at", 1),
        (shift("%at", "i32", 30), "%at", 1 << 30),
        (SCALAR_SHIFT, "%n", 256),
    ],
)
def test_multiply_shifts(body, shifted, factor):
    count, module = after("multiply-shifts", body)
    assert count == 1
    value, power = only(module, "arith.muli").operands
    constants = {each.result: each for each in module.walk() if each.name == "arith.constant"}
    assert (value.name, one_integer(constants[power])) == (shifted, factor)


@pytest.mark.parametrize(
    ("value", "type_", "places"),
    [("%at", "i32", 31), ("%at", "i32", 32), ("%at", "i32", [*range(4)] * 16), ("%e", "i8", 3)],
)
def test_shifts_that_stay(value, type_, places):
    assert after("multiply-shifts", shift(value, type_, places))[0] == 0
