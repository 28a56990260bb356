"""The least and greatest elements of rows, and where they are."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_text import function
from qemu_kernels import Expected

from triton_rvv.frontend.ttir import parse_module
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.located_extremes import locate_extremes
from triton_rvv.targets.target import RVVTarget


def _reduction(places: str, condition: str, value: str = "%a, %c", place: str = "%b, %d") -> str:
    """A reduction of %x and of places whose region returns what a condition chooses of both."""
    return f"""
    {places}
    %r:2 = "tt.reduce"(%x, %at) <{{axis = 1 : i32}}> ({{
    ^bb0(%a: f32, %b: i32, %c: f32, %d: i32):
      {condition}
      %value = "arith.select"(%first, {value}) : (i1, f32, f32) -> f32
      %place = "arith.select"(%first, {place}) : (i1, i32, i32) -> i32
      "tt.reduce.return"(%value, %place) : (f32, i32) -> ()
    }}) : (tensor<4x64xf32>, tensor<4x64xi32>) -> (tensor<4xf32>, tensor<4xi32>)"""


_POSITIONS = """
    %line = "tt.make_range"() <{start = 0 : i32, end = 64 : i32}> : () -> tensor<64xi32>
    %row = "tt.expand_dims"(%line) <{axis = 0 : i32}> : (tensor<64xi32>) -> tensor<1x64xi32>
    %at = "tt.broadcast"(%row) : (tensor<1x64xi32>) -> tensor<4x64xi32>"""
_OTHERS = '%at = "arith.muli"(%w, %w) : (tensor<4x64xi32>, tensor<4x64xi32>) -> tensor<4x64xi32>'
_LESS = '%first = "arith.cmpf"(%a, %c) <{predicate = 4 : i64}> : (f32, f32) -> i1'
_MORE = '%first = "arith.cmpf"(%a, %c) <{predicate = 2 : i64}> : (f32, f32) -> i1'
_MORE_OR_EARLIER = """
    %more = "arith.cmpf"(%a, %c) <{predicate = 2 : i64}> : (f32, f32) -> i1
    %same = "arith.cmpf"(%a, %c) <{predicate = 1 : i64}> : (f32, f32) -> i1
    %before = "arith.cmpi"(%b, %d) <{predicate = 2 : i64}> : (i32, i32) -> i1
    %tie = "arith.andi"(%same, %before) : (i1, i1) -> i1
    %first = "arith.ori"(%more, %tie) : (i1, i1) -> i1"""


_DOWN = """
    %line = "tt.make_range"() <{start = 0 : i32, end = 4 : i32}> : () -> tensor<4xi32>
    %column = "tt.expand_dims"(%line) <{axis = 1 : i32}> : (tensor<4xi32>) -> tensor<4x1xi32>
    %at = "tt.broadcast"(%column) : (tensor<4x1xi32>) -> tensor<4x64xi32>"""


def _located(body: str) -> tuple[int, list[str]]:
    """How many reductions became two, and what combines elements in each reduction."""
    module = parse_module(function(body, "%x: tensor<4x64xf32>, %w: tensor<4x64xi32>"))
    fired = locate_extremes(Kernel(module, RVVTarget(), True))
    reductions = [each for each in module.walk() if each.name == "tt.reduce"]
    return fired, [each.regions[0].block.operations[0].name for each in reductions]


@pytest.mark.parametrize(
    ("condition", "combined"),
    [
        (_LESS, ["arith.minnumf", "arith.maxsi"]),
        (_MORE, ["arith.maxnumf", "arith.maxsi"]),
        (_MORE_OR_EARLIER, ["arith.maxnumf", "arith.minsi"]),
    ],
)
def test_one_search_becomes_two_reductions(condition, combined):
    assert _located(_reduction(_POSITIONS, condition)) == (1, combined)


@pytest.mark.parametrize(("condition", "predicate"), [(_LESS, 5), (_MORE_OR_EARLIER, 2)])
def test_a_place_is_carried_from_row_to_row(condition, predicate):
    down = _reduction(_DOWN, condition).replace("axis = 1 : i32}> ({", "axis = 0 : i32}> ({")
    down = down.replace("(tensor<4xf32>, tensor<4xi32>)", "(tensor<64xf32>, tensor<64xi32>)")
    module = parse_module(function(down, "%x: tensor<4x64xf32>"))
    assert locate_extremes(Kernel(module, RVVTarget(), True)) == 1
    (reduction,) = [each for each in module.walk() if each.name == "tt.reduce"]
    compared, value, place, _ = reduction.regions[0].block.operations
    assert (compared.integer("predicate"), place.name) == (predicate, "arith.select")
    assert value.operands == compared.operands[::-1]


@pytest.mark.parametrize(
    "reduction",
    [
        _reduction(_POSITIONS, _LESS, value="%c, %a"),  # the greatest element at the least one's
        _reduction(_POSITIONS, _LESS, place="%d, %b"),
        _reduction(_OTHERS, _LESS),  # the last of equal elements need not have the largest
        _reduction(_OTHERS, _MORE_OR_EARLIER),  # nothing is known of what to fill in
        _reduction(_POSITIONS, _LESS.replace("4 : i64", "5 : i64")),  # or equal
    ],
)
def test_other_choices_are_left(reduction):
    fired, combined = _located(reduction)
    assert (fired, len(combined)) == (0, 1)


@triton.jit
def places_kernel(
    x_ptr, least_ptr, first_ptr, last_ptr, down_ptr, low_ptr, ROWS: tl.constexpr, N: tl.constexpr
):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, N)
    x = tl.load(x_ptr + rows[:, None] * N + columns[None, :])
    least, first = tl.min(x, axis=1, return_indices=True)
    tl.store(least_ptr + rows, least)
    tl.store(first_ptr + rows, first)
    tl.store(last_ptr + rows, tl.argmax(x, axis=1, tie_break_left=False))
    tl.store(down_ptr + columns, tl.argmax(x, axis=0))
    tl.store(low_ptr + columns, tl.argmin(x, axis=0, tie_break_left=False))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.uint32])
def test_ties_are_broken_to_the_side_asked_for(run, dtype):
    x = np.random.default_rng(0).integers(1, 9, (8, 64)).astype(dtype)
    if np.issubdtype(dtype, np.floating):
        x[1], x[2, 5], x[3, 60] = np.inf, -np.inf, -np.inf
        x[4] = -x[4]
    elif dtype == np.uint32:
        x[1, 7], x[2] = 2**32 - 1, 2**31
    run(
        places_kernel,
        x_ptr=x,
        least_ptr=Expected(x.min(1)),
        first_ptr=Expected(x.argmin(1).astype(np.int32)),
        last_ptr=Expected((63 - x[:, ::-1].argmax(1)).astype(np.int32)),
        down_ptr=Expected(x.argmax(0).astype(np.int32)),
        low_ptr=Expected((7 - x[::-1].argmin(0)).astype(np.int32)),
        ROWS=8,
        N=64,
    )


@triton.jit
def is_inside_kernel(x_ptr, inside_ptr, N: tl.constexpr):
    place = tl.argmin(tl.load(x_ptr + tl.arange(0, N)), axis=0)
    tl.store(inside_ptr, ((place >= 0) & (place < N)).to(tl.int32))


def test_a_row_of_nan_has_a_place(run):
    inside = Expected(np.ones(1, np.int32))
    run(is_inside_kernel, x_ptr=np.full(64, np.nan, np.float32), inside_ptr=inside, N=64)
