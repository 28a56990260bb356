"""The passes over loops on a few lines of IR: what loops carry, and their products."""

from __future__ import annotations

import pytest
from ir_passes import after, only
from pairs import in_turn

from triton_rvv.lowering.ttir.carried_offsets import CARRIES_BASE_OF
from triton_rvv.lowering.ttir.epilogues import STARTS_IN_PRODUCT, STORED_IN_LAST_TURN

# -- what loops carry ------------------------------------------------------------------------------

BLOCK = "tensor<8x!tt.ptr<f32>>"
I32 = "tensor<8xi32>"
CARRIED = f"""
%at = "tt.make_range"() {{end = 8, start = 0}} : () -> {I32}
%one = "arith.constant"() {{value = dense<1> : {I32}}} : () -> {I32}
%xs = "tt.splat"(%x) : (!tt.ptr<f32>) -> {BLOCK}
%p = "tt.addptr"(%xs, %at) : ({BLOCK}, {I32}) -> {BLOCK}
%q:2 = "scf.for"(%n, %n, %n, %p, %one) ({{
^bb0(%i: i32, %r: {BLOCK}, %k: {I32}):
  BODY
}}) : (i32, i32, i32, {BLOCK}, {I32}) -> ({BLOCK}, {I32})
%read = "arith.sitofp"(%q#1) : ({I32}) -> tensor<8xf32>
"tt.store"(%q#0, %read) : ({BLOCK}, tensor<8xf32>) -> ()
"""
YIELD = f'"scf.yield"(%s, %l) : ({BLOCK}, {I32}) -> ()'


def carried(*body: str) -> list[int]:
    text = CARRIED.replace("BODY", "\n".join([*body, YIELD]))
    _, module = after("carry-bases", text)
    loops = [operation for operation in module.walk() if operation.name == "scf.for"]
    return loops[0].integers(CARRIES_BASE_OF)


def moved(result: str, block: str, by: str) -> str:
    return f'{result} = "tt.addptr"({block}, {by}) : ({BLOCK}, {I32}) -> {BLOCK}'


def added(result: str, one: str, other: str, operation: str = "addi") -> str:
    return f'{result} = "arith.{operation}"({one}, {other}) : ({I32}, {I32}) -> {I32}'


STEP = f'%step = "tt.splat"(%n) : (i32) -> {I32}'


@pytest.mark.parametrize(
    ("body", "numbers"),
    [
        ([STEP, moved("%s", "%r", "%step"), added("%l", "%k", "%step")], [0, 1]),
        ([STEP, moved("%s", "%r", "%k"), added("%l", "%step", "%k")], [0, 1]),
        ([moved("%s", "%r", "%at"), added("%l", "%k", "%one")], [1]),
        # A block that is no number any more moves the addresses by no number.
        ([moved("%s", "%r", "%k"), added("%l", "%k", "%at")], []),
        # Computed anew in each turn, from what the first turn's were made from.
        ([moved("%s", "%p", "%one"), added("%l", "%one", "%k", "subi")], [0, 1]),
        ([moved("%s", "%xs", "%at"), added("%l", "%at", "%one")], []),
        ([moved("%s", "%r", "%one"), added("%l", "%k", "%k", "xori")], [0]),
    ],
)
def test_carry_bases(body, numbers):
    assert carried(*body) == numbers


def inner(start: str, body: str) -> str:
    """A loop in the loop, that carries a block of addresses."""
    return f"""%s = "scf.for"(%n, %n, %n, {start}) ({{
    ^bb0(%j: i32, %t: {BLOCK}):
      {body}
      "scf.yield"(%u) : ({BLOCK}) -> ()
    }}) : (i32, i32, i32, {BLOCK}) -> {BLOCK}"""


def test_a_loop_that_passes_a_block_through_another():
    same = added("%l", "%k", "%one")
    assert carried(inner("%r", moved("%u", "%t", "%k")), same) == [0, 1]
    assert carried(inner("%r", moved("%u", "%t", "%at")), same) == [1]
    # The inner loop moves by what the outer one changes.
    changing = added("%l", "%k", "%at")
    assert carried(inner("%r", moved("%u", "%t", "%k")), changing) == []


# -- products --------------------------------------------------------------------------------------

SQUARE = "tensor<64x64xf32>"
POINTERS = "tensor<64x64x!tt.ptr<f32>>"
PRODUCT = f"""
%zero = "arith.constant"() {{value = dense<0.0> : {SQUARE}}} : () -> {SQUARE}
%xs = "tt.splat"(%x) : (!tt.ptr<f32>) -> {POINTERS}
%ys = "tt.splat"(%y) : (!tt.ptr<f32>) -> {POINTERS}
%total = "scf.for"(%n, %n, %n, %zero) ({{
^bb0(%i: i32, %sum: {SQUARE}):
  %v = "tt.load"(%xs) : ({POINTERS}) -> {SQUARE}
  INSIDE
  %new = "tt.dot"(%v, %v, %sum) : ({SQUARE}, {SQUARE}, {SQUARE}) -> {SQUARE}
  "scf.yield"(%new) : ({SQUARE}) -> ()
}}) : (i32, i32, i32, {SQUARE}) -> {SQUARE}
%half = "arith.truncf"(%total) : ({SQUARE}) -> {SQUARE}
"tt.store"(%ys, %half) : ({POINTERS}, {SQUARE}) -> ()
"""


def test_start_in_product_and_store_in_last_turn():
    body = PRODUCT.replace("INSIDE", "")
    count, module = after("start-in-product", body)
    assert count == 1
    assert only(module, "scf.for").integers(STARTS_IN_PRODUCT) == [0]
    count, module = after("store-in-last-turn", body)
    assert count == 1
    assert only(module, "scf.for").attributes[STORED_IN_LAST_TURN] == [[0, 1]]


def test_an_accumulator_that_something_else_reads():
    inside = f'%other = "arith.addf"(%sum, %v) : ({SQUARE}, {SQUARE}) -> {SQUARE}'
    assert after("start-in-product", PRODUCT.replace("INSIDE", inside))[0] == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(%ys, %half)", "(%xs, %half)"),  # the loop loads from there
        ('"tt.store"', '"gpu.barrier"() : () -> ()\n"tt.store"'),
        ("INSIDE", '"gpu.barrier"() : () -> ()'),
    ],
)
def test_stores_that_stay_behind_the_loop(old, new):
    assert old in PRODUCT
    body = PRODUCT.replace(old, new).replace("INSIDE", "")
    assert after("store-in-last-turn", body)[0] == 0


@pytest.mark.parametrize(
    ("size", "count"), in_turn([(-5, 1), (129, 0), (0, 1), (64, 1), (65, 1), (128, 1)], turns=3)
)
def test_stores_behind_many_turns_stay_there(size, count):
    bounds = """%zero_turns = "arith.constant"() {value = 0 : i32} : () -> i32
    %turn = "arith.constant"() {value = 64 : i32} : () -> i32
    %most = "arith.constant"() {value = 63 : i32} : () -> i32
    %more = "arith.addi"(%n, %most) : (i32, i32) -> i32
    %turns = "arith.divsi"(%more, %turn) : (i32, i32) -> i32
    %end = "arith.muli"(%turns, %turn) : (i32, i32) -> i32
    """
    loop = '"scf.for"(%zero_turns, %end, %turn, %zero)'
    body = bounds + PRODUCT.replace("INSIDE", "").replace('"scf.for"(%n, %n, %n, %zero)', loop)
    assert after("store-in-last-turn", body, n=size)[0] == count


MASKED = (
    PRODUCT.replace("INSIDE", "")
    .replace(
        '"tt.store"(%ys, %half) : (',
        """%at = "tt.make_range"() {end = 64, start = 0} : () -> tensor<64xi32>
CONDITION
%m = "arith.cmpi"(%at, %most) {predicate = 2} : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi1>
%r = "tt.expand_dims"(%m) {axis = 1} : (tensor<64xi1>) -> tensor<64x1xi1>
%mask = "tt.broadcast"(%r) : (tensor<64x1xi1>) -> tensor<64x64xi1>
"tt.store"(%ys, %half, %mask) : (""",
    )
    .replace(f"({POINTERS}, {SQUARE}) -> ()", f"({POINTERS}, {SQUARE}, tensor<64x64xi1>) -> ()")
)


def test_hoist_masks():
    most = '%most = "tt.splat"(%n) : (i32) -> tensor<64xi32>'
    count, module = after("hoist-masks", MASKED.replace("CONDITION", most))
    assert count == 5
    names = [op.name for op in only(module, "tt.func").regions[0].block.operations]
    assert names.index("tt.broadcast") < names.index("scf.for") < names.index("tt.store")


def test_a_mask_that_is_loaded_stays():
    most = """%places = "tt.splat"(%q) : (!tt.ptr<i32>) -> tensor<64x!tt.ptr<i32>>
    %most = "tt.load"(%places) : (tensor<64x!tt.ptr<i32>>) -> tensor<64xi32>"""
    body = MASKED.replace("CONDITION", most).replace("%q", "%z")
    pointer = '%z = "tt.bitcast"(%x) : (!tt.ptr<f32>) -> !tt.ptr<i32>\n'
    assert after("hoist-masks", pointer + body)[0] == 0
