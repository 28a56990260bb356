"""Shifts to the left that become products, and integers joined bit by bit that become sums."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_passes import after, only
from qemu_kernels import Expected

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
def test_shifts_become_products(body, shifted, factor):
    count, module = after("add-bits", body)
    assert count == 1
    value, power = only(module, "arith.muli").operands
    constants = {each.result: each for each in module.walk() if each.name == "arith.constant"}
    assert (value.name, one_integer(constants[power])) == (shifted, factor)


@pytest.mark.parametrize(
    ("value", "type_", "places"),
    [("%at", "i32", 31), ("%at", "i32", 32), ("%at", "i32", [*range(4)] * 16), ("%e", "i8", 3)],
)
def test_shifts_that_stay(value, type_, places):
    assert after("add-bits", shift(value, type_, places))[0] == 0


# %a and %b are blocks of 16 numbers from 0 to 15, %w of any.
JOINED = """
%a = "tt.make_range"() {end = 16, start = 0} : () -> tensor<16xi32>
%b = "tt.make_range"() {end = 16, start = 0} : () -> tensor<16xi32>
%w = "tt.splat"(%n) : (i32) -> tensor<16xi32>
%k = "arith.constant"() {value = dense<NUMBER> : tensor<16xi32>} : () -> tensor<16xi32>
%m = "arith.OPERATION"(SIDE, %k) : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
%j = "arith.ori"(%m, OTHER) : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
"""


@pytest.mark.parametrize(
    ("operation", "side", "number", "other", "count"),
    [
        ("shli", "%a", 4, "%b", 1),
        ("shli", "%a", 3, "%b", 0),
        ("shli", "%w", 4, "%b", 1),
        ("shli", "%w", 4, "%w", 0),
        ("muli", "%a", 16, "%b", 1),
        ("muli", "%a", 24, "%b", 0),
        ("andi", "%w", -16, "%b", 1),
        ("andi", "%w", -15, "%b", 0),
        ("addi", "%a", 16, "%b", 0),
    ],
)
def test_integers_of_different_bits_are_added(operation, side, number, other, count):
    body = JOINED.replace("OPERATION", operation).replace("SIDE", side)
    body = body.replace("NUMBER", str(number)).replace("OTHER", other)
    fired, module = after("add-bits", body)
    assert fired == count + (operation == "shli")
    assert count == 1 - sum(each.name == "arith.ori" for each in module.walk())


def test_truths_are_joined():
    truths = JOINED.replace("OPERATION", "cmpi").replace("SIDE", "%a").replace("NUMBER", "3")
    truths = truths.replace('"arith.cmpi"(%a, %k)', '"arith.cmpi"(%a, %k) {predicate = 2 : i64}')
    truths = truths.replace("-> tensor<16xi32>\n%j", "-> tensor<16xi1>\n%j")
    no = '%no = "arith.constant"() {value = dense<false> : tensor<16xi1>} : () -> tensor<16xi1>\n'
    join = '%j = "arith.ori"(%m, %no) : (tensor<16xi1>, tensor<16xi1>) -> tensor<16xi1>\n'
    assert after("add-bits", truths[: truths.index("%j")] + no + join)[0] == 0


@triton.jit
def pack_kernel(x_ptr, packed_ptr, sum_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    packed = tl.load(x_ptr + at) & 255
    for part in tl.static_range(1, 4):
        packed |= (tl.load(x_ptr + part * N + at) & 255) << 8 * part
    tl.store(packed_ptr + at, packed)
    x, y = tl.load(x_ptr + at), tl.load(x_ptr + N + at)
    tl.store(sum_ptr + at, (x << 5) - (y << 3) + ((x << 7) + (x << 7)) - (x ^ y))


def test_packed_bytes_and_sums_of_shifts_are_right(run):
    n, random = 64, np.random.default_rng(5)
    x = random.integers(-(1 << 31), 1 << 31, (4, n)).astype(np.int32)
    packed = np.ascontiguousarray(x.view(np.uint8).reshape(4, n, 4)[:, :, 0].T).view(np.int32)
    total = (x[0] << 5) - (x[1] << 3) + 2 * (x[0] << 7) - (x[0] ^ x[1])
    run(
        pack_kernel,
        core="spacemit-x60",
        x_ptr=x,
        packed_ptr=Expected(packed[:, 0]),
        sum_ptr=Expected(total),
        N=n,
    )
