"""Functions that stay functions in Triton's IR: early returns in loops, `noinline`."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected

from triton_rvv import CompileError, RVVTarget, compile_kernel


@triton.jit
def step(x, turn, table_ptr):
    if turn == 1:
        return x, turn * 10
    weight = tl.load(table_ptr + turn)
    if turn == 3:
        return x * weight, turn
    return x + weight, turn * 100


@triton.jit
def early_return_kernel(x_ptr, table_ptr, out_ptr, count_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    total = 0
    for turn in range(n):
        x, count = step(x, turn, table_ptr)
        total += count
    x, count = step(x, n, table_ptr)
    tl.store(out_ptr + offsets, x)
    tl.store(count_ptr, total + count)


@pytest.mark.parametrize("turns", in_turn([0, 5, 1], turns=2))
def test_early_returns_inside_a_loop(run, turns):
    x, table = np.arange(64, dtype=np.int32), np.arange(3, 11, dtype=np.int32)
    out, total = x.copy(), 0
    for turn in range(turns + 1):
        if turn == 3:
            out = out * table[turn]
        elif turn != 1:
            out = out + table[turn]
        total += {1: 10, 3: 3}.get(turn, turn * 100)
    run(
        early_return_kernel,
        x_ptr=x,
        table_ptr=table,
        out_ptr=Expected(out),
        count_ptr=Expected(np.array([total], np.int32)),
        n=turns,
        N=64,
    )


@triton.jit(noinline=True)
def add_one(pointer, amount):
    tl.store(pointer, tl.load(pointer) + amount)


@triton.jit(noinline=True)
def twice(pointer, amount):
    add_one(pointer, amount)
    add_one(pointer + 1, amount * 2)
    return amount * 4


@triton.jit
def noinline_kernel(x_ptr, n):
    amount = 1
    for _ in range(n):
        amount = twice(x_ptr, amount)
        amount -= tl.load(x_ptr)
    tl.store(x_ptr + 2, amount)


def test_functions_that_are_not_inlined(run):
    x, amount = [0, 0, 0], 1
    for _ in range(3):
        x[0], x[1] = x[0] + amount, x[1] + 2 * amount
        amount = 4 * amount - x[0]
    x[2] = amount
    start = np.zeros(3, np.int32)
    run(noinline_kernel, x_ptr=Expected(np.array(x, np.int32), start), n=3)


@triton.jit
def choose(x, n):
    if n > 4:
        return x
    return -x


@triton.jit
def value_kernel(x_ptr, out_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    chosen = choose(tl.load(x_ptr + offsets), n)
    tl.store(out_ptr + offsets, chosen * 2)


@pytest.mark.parametrize("n", [4, 5])
def test_a_value_that_depends_on_an_early_return(run, n):
    x = np.random.default_rng(1).standard_normal(256).astype(np.float32)
    run(value_kernel, x_ptr=x, out_ptr=Expected(x * 2 if n > 4 else -x * 2), n=n, N=256)


@triton.jit
def factorial(n):
    if n <= 1:
        return 1
    return n * factorial(n - 1)


@triton.jit
def recursive_kernel(x_ptr, n):
    tl.store(x_ptr, factorial(n))


def test_a_function_that_calls_itself():
    with pytest.raises(CompileError, match="calls itself is not supported: write a loop"):
        compile_kernel(recursive_kernel, {"x_ptr": "*i32", "n": "i32"}, {}, RVVTarget())
