"""Rows that a loaded number chooses in a loop: the numbers of later turns are loaded in time."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_passes import after
from ir_text import function
from qemu_kernels import Expected

from triton_rvv.frontend.ttir import parse_module
from triton_rvv.lowering.ttir.chosen_rows import LATER_ROW, find_chosen_rows
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.targets.target import RVVTarget

ROW, POINTERS = "tensor<16xf32>", "tensor<16x!tt.ptr<f32>>"
LOOP = f"""
%true = "arith.constant"() {{value = true}} : () -> i1
%none = "arith.constant"() {{value = 0 : i32}} : () -> i32
%step = "arith.constant"() {{value = STEP : i32}} : () -> i32
%columns = "tt.make_range"() {{end = 16, start = 0}} : () -> tensor<16xi32>
%zero = "arith.constant"() {{value = dense<0.0> : {ROW}}} : () -> {ROW}
%q:2 = "scf.for"(%none, %n, %step, %zero, %y) ({{
^bb0(%i: i32, %total: {ROW}, %at: !tt.ptr<f32>):
  %is_inside = "arith.cmpi"(%i, %n) {{predicate = 2}} : (i32, i32) -> i1
  %one = "tt.addptr"(WHERE, %i) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
  %f = LOADED
  %row = "arith.fptosi"(%f) : (f32) -> i32
  %start = "tt.addptr"(%x, %row) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
  %starts = "tt.splat"(%start) : (!tt.ptr<f32>) -> {POINTERS}
  %p = "tt.addptr"(%starts, %columns) : ({POINTERS}, tensor<16xi32>) -> {POINTERS}
  %v = "tt.load"(%p) : ({POINTERS}) -> {ROW}
  %m = "arith.addf"(%total, %v) : ({ROW}, {ROW}) -> {ROW}
  %next = "tt.addptr"(%at, %step) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
  "scf.yield"(%m, %next) : ({ROW}, !tt.ptr<f32>) -> ()
}}) : (i32, i32, i32, {ROW}, !tt.ptr<f32>) -> ({ROW}, !tt.ptr<f32>)
"""
LOADED = '"tt.load"(%one) : (!tt.ptr<f32>) -> f32'
VOLATILE = '"tt.load"(%one) {isVolatile = true} : (!tt.ptr<f32>) -> f32'
MASKED = '"tt.load"(%one, %true) : (!tt.ptr<f32>, i1) -> f32'
MASKED_ANEW = MASKED.replace("%true", "%is_inside")
PATH = LOOP[LOOP.index("  %one") : LOOP.index("  %p =")]
PATH_OF_BLOCK = f"""
  %counters = "tt.splat"(%i) : (i32) -> tensor<COUNTxi32>
  %ys = "tt.splat"(%y) : (!tt.ptr<f32>) -> POINTERS
  %ones = "tt.addptr"(%ys, %counters) : (POINTERS, tensor<COUNTxi32>) -> POINTERS
  %f = "tt.load"(%ones) : (POINTERS) -> tensor<COUNTxf32>
  %row = "arith.fptosi"(%f) : (tensor<COUNTxf32>) -> tensor<COUNTxi32>
  %rows = "tt.broadcast"(%row) : (tensor<COUNTxi32>) -> tensor<16xi32>
  %xs = "tt.splat"(%x) : (!tt.ptr<f32>) -> {POINTERS}
  %starts = "tt.addptr"(%xs, %rows) : ({POINTERS}, tensor<16xi32>) -> {POINTERS}
""".replace("POINTERS", "tensor<COUNTx!tt.ptr<f32>>")


@pytest.mark.parametrize(
    ("where", "loaded", "step", "count"),
    [
        ("%y", LOADED, 1, 1),
        # Carried pointers are not followed, nor masks of each turn; steps of 2 could go beyond the
        # end, and no number is loaded where hardware may foresee the row.
        ("%at", LOADED, 1, 0),
        ("%y", LOADED, 2, 0),
        ("%y", VOLATILE, 1, 0),  # which is loaded as often as it says
        ("%y", MASKED, 1, 1),
        ("%y", MASKED_ANEW, 1, 0),
        ("%y", '"arith.sitofp"(%i) : (i32) -> f32', 1, 0),
    ],
)
def test_numbers_of_later_rows_are_loaded(where, loaded, step, count):
    text = LOOP.replace("WHERE", where).replace("LOADED", loaded).replace("STEP", str(step))
    fired, module = after("find-chosen-rows", text)
    loads = [each for each in module.walk() if each.name == "tt.load"]
    assert fired == count == sum(LATER_ROW in each.attributes for each in loads)
    assert sum(each.name == "arith.select" for each in module.walk()) == count
    # By the same mask, if any.
    masks = [each.operands[1:] for each in loads if len(each.operands) > 1]
    assert masks in ([], masks[:1] * (1 + count))


@pytest.mark.parametrize(("core", "fires"), [("x60", 1), ("x100", 0)])
def test_rows_are_asked_for_where_a_core_waits_for_each(core, fires):
    text = LOOP.replace("WHERE", "%y").replace("LOADED", LOADED).replace("STEP", "1")
    kernel = Kernel(parse_module(function(text)), RVVTarget.named(core), True)
    assert find_chosen_rows(kernel) == fires


@pytest.mark.parametrize(("count", "fires"), [(1, 1), (16, 0)])
def test_a_number_may_be_in_a_block_of_one(count, fires):
    text = LOOP.replace(PATH, PATH_OF_BLOCK.replace("COUNT", str(count))).replace("STEP", "1")
    assert after("find-chosen-rows", text)[0] == fires


STORED = '"tt.store"(%at, %f) : (!tt.ptr<f32>, f32) -> ()'
LOADED_TWICE = """%f1 = "tt.load"(%one) : (!tt.ptr<f32>) -> f32
  %r1 = "arith.fptosi"(%f1) : (f32) -> i32
  %other = "tt.addptr"(%y, %r1) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
  %f = "tt.load"(%other) : (!tt.ptr<f32>) -> f32"""


@pytest.mark.parametrize(
    ("loaded", "stored", "count"),
    [
        (LOADED_TWICE, "", 1),
        # Before its turn writes it, the first number may lead anywhere; a row is only asked for.
        (LOADED_TWICE, STORED, 0),
        ("%f = " + LOADED, STORED, 1),
    ],
)
def test_no_number_is_loaded_from_where_a_turn_may_still_write(loaded, stored, count):
    text = LOOP.replace("WHERE", "%y").replace("STEP", "1").replace("%f = LOADED", loaded)
    text = text.replace('"scf.yield"', stored + '\n  "scf.yield"')
    assert after("find-chosen-rows", text)[0] == count


@triton.jit
def chosen_kernel(x_ptr, rows_ptr, y_ptr, END, N: tl.constexpr):
    """Program p adds up p rows, whose numbers are counted up to END."""
    columns, program = tl.arange(0, N), tl.program_id(0)
    first = END - program
    total = tl.zeros((N,), dtype=tl.float32)
    for at in range(first, END):
        row = tl.load(rows_ptr + (tl.cast(at, tl.int64) - first))
        total += tl.load(x_ptr + row * N + columns, mask=columns < N - 3, other=1.0)
    tl.store(y_ptr + program * N + columns, total)


@pytest.mark.parametrize("end", [2**31 - 1, 5])
def test_no_number_behind_the_last_is_loaded(run, end):
    """Up to the largest number that counts; a sum that wraps would be gigabytes before the list."""
    programs, size = 8, 32
    generator = np.random.default_rng(3)
    x = generator.integers(-8, 8, (6, size)).astype(np.float32)
    rows = generator.integers(0, 6, programs, dtype=np.int32)
    y = np.array([x[rows[:count]].sum(0) for count in range(programs)], np.float32)
    y[:, -3:] = np.arange(programs)[:, None]
    run(
        chosen_kernel,
        x_ptr=x,
        rows_ptr=rows,
        y_ptr=Expected(y),
        END=end,
        N=size,
        grid=(programs,),
    )


@triton.jit
def chosen_block_kernel(
    x_ptr, rows_ptr, y_ptr, COUNT, TURNS, FAR, ONE: tl.constexpr, N: tl.constexpr
):
    """The largest of TURNS rows for each number below COUNT; row 0 for those whose list is FAR."""
    columns, at = tl.arange(0, N), tl.program_id(0) * ONE + tl.arange(0, ONE)
    numbers_ptr = rows_ptr + at * TURNS + at // COUNT * FAR
    most = tl.full((ONE, N), -9.0, dtype=tl.float32)
    for turn in range(TURNS):
        row = tl.load(numbers_ptr + turn, mask=at < COUNT, other=0)
        most = tl.maximum(most, tl.load(x_ptr + row[:, None] * N + columns[None, :]))
    tl.store(y_ptr + at[:, None] * N + columns[None, :], most)


def test_no_number_is_loaded_that_a_mask_keeps(run):
    programs, count, turns, size = 4, 3, 5, 64
    generator = np.random.default_rng(4)
    x = generator.integers(-8, 8, (6, size)).astype(np.float32)
    rows = generator.integers(0, 6, (count, turns), dtype=np.int32)
    chosen = np.concatenate([rows, np.zeros((programs - count, turns), np.int32)])
    run(
        chosen_block_kernel,
        x_ptr=x,
        rows_ptr=rows,
        y_ptr=Expected(x[chosen].max(1)),
        COUNT=count,
        TURNS=turns,
        FAR=2**28,
        ONE=1,
        N=size,
        grid=(programs,),
    )
