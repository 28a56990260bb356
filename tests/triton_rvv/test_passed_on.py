"""Loops that pass blocks on from turn to turn have several turns in one, and a rest."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from ir_passes import after
from qemu_kernels import Expected

BLOCK = "tensor<8xf32>"
LOOP = f"""
%zero = "arith.constant"() {{value = dense<0.0> : {BLOCK}}} : () -> {BLOCK}
%none = "arith.constant"() {{value = 0 : i32}} : () -> i32
%step = "arith.constant"() {{value = STEP : i32}} : () -> i32
%q:3 = "scf.for"(%none, %n, %step, %zero, %zero, %zero) ({{
^bb0(%i: i32, %a: {BLOCK}, %b: {BLOCK}, %c: {BLOCK}):
  %s = "tt.splat"(%i) : (i32) -> tensor<8xi32>
  %f = "arith.sitofp"(%s) : (tensor<8xi32>) -> {BLOCK}
  %m = "arith.addf"(%f, %c) : ({BLOCK}, {BLOCK}) -> {BLOCK}
  MORE
  "scf.yield"(GIVEN) : ({BLOCK}, {BLOCK}, {BLOCK}) -> ()
}}) : (i32, i32, i32, {BLOCK}, {BLOCK}, {BLOCK}) -> ({BLOCK}, {BLOCK}, {BLOCK})
"""
REDUCED = f"""%sum = "tt.reduce"(%m) <{{axis = 0 : i32}}> ({{
  ^bb1(%l: f32, %r: f32):
    %lr = "arith.addf"(%l, %r) : (f32, f32) -> f32
    "tt.reduce.return"(%lr) : (f32) -> ()
  }}) : ({BLOCK}) -> f32"""


@pytest.mark.parametrize(
    ("given", "more", "step", "turns"),
    [
        ("%m, %a, %b", "", 1, 3),
        ("%m, %a, %m", "", 1, 2),
        ("%b, %a, %m", "", 1, 2),
        ("%b, %c, %a", "", 1, 3),
        # Nothing is passed on: each becomes a new block, or stays as it is.
        ("%m, %b, %m", "", 1, 1),
        # A reduction is a loop in the loop, and steps of 2 are not looked at.
        ("%m, %a, %b", REDUCED, 1, 1),
        ("%m, %a, %b", "", 2, 1),
    ],
)
def test_as_many_turns_as_a_block_is_passed_on(given, more, step, turns):
    text = LOOP.replace("GIVEN", given).replace("MORE", more).replace("STEP", str(step))
    fired, module = after("unroll-passed-on", text)
    assert fired == (turns > 1)
    loops = [each for each in module.walk() if each.name == "scf.for"]
    sizes = [sum(each.name == "arith.sitofp" for each in loop.walk()) for loop in loops]
    assert sizes == ([turns, 1] if turns > 1 else [1])


@triton.jit
def passed_on_kernel(x_ptr, y_ptr, last_ptr, END, N: tl.constexpr, ROWS: tl.constexpr):
    """Program p has p - 2 turns, and stores what was four turns ago."""
    columns, program = tl.arange(0, N), tl.program_id(0)
    first = END - (program - 2)
    a = tl.zeros((N,), dtype=tl.float32)
    b, c = a + 1, a + 2
    for at in range(first, END):
        x = tl.load(x_ptr + (at - first) * N + columns)
        to = y_ptr + (program * ROWS + at - first) * N + columns
        tl.store(to, x + c, mask=columns < N - 3)
        c = b
        b = a
        a = x - 0.5 * a
    last = last_ptr + program * 3 * N + columns
    tl.store(last, a)
    tl.store(last + N, b)
    tl.store(last + 2 * N, c)


@pytest.mark.parametrize("end", [2**31 - 3, -5, -(2**31)])
@pytest.mark.parametrize("size", [16, 256])
def test_each_number_of_turns(run, size, end):
    """None too, where the loop begins behind its end, by 1 or by nearly 2**32; up to the largest
    number that counts.
    """
    programs = rows = 10
    x = np.random.default_rng(1).integers(-8, 8, (rows, size)).astype(np.float32)
    y = np.full((programs, rows, size), -1, np.float32)
    last = np.empty((programs, 3, size), np.float32)
    for program in range(programs):
        a, b, c = (np.full(size, number, np.float32) for number in range(3))
        for turn in range(program - 2 if end > -(2**31) else 0):
            y[program, turn, :-3] = (x[turn] + c)[:-3]
            a, b, c = x[turn] - np.float32(0.5) * a, a, b
        last[program] = a, b, c
    run(
        passed_on_kernel,
        x_ptr=x,
        y_ptr=Expected(y, start=np.full_like(y, -1)),
        last_ptr=Expected(last),
        END=end,
        N=size,
        ROWS=rows,
        grid=(programs,),
    )


@triton.jit
def overwritten_kernel(x_ptr, n, N: tl.constexpr):
    """A turn overwrites half of what it loads and passes on, and half of what the next loads."""
    columns = tl.arange(0, N)
    a = tl.zeros((N,), dtype=tl.float32)
    b = a + 1
    for at in range(n):
        x = tl.load(x_ptr + at * N + columns)
        tl.store(x_ptr + at * N + N // 2 + columns, x + b)
        b = a
        a = x


@pytest.mark.parametrize("turns", [4, 5])
def test_blocks_whose_memory_is_overwritten(run, turns):
    size = 64
    start = np.random.default_rng(2).integers(-8, 8, (turns + 1) * size).astype(np.float32)
    x, a, b = start.copy(), np.zeros(size, np.float32), np.ones(size, np.float32)
    for at in range(0, turns * size, size):
        loaded = x[at : at + size].copy()
        x[at + size // 2 :][:size] = loaded + b
        a, b = loaded, a
    run(overwritten_kernel, x_ptr=Expected(x, start=start), n=turns, N=size)
