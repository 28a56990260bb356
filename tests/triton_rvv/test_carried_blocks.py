"""Blocks that a loop hands on to its next turn, exchanged, rotated and delayed."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from qemu_kernels import Expected


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).integers(-9999, 9999, shape).astype(np.int32)


@triton.jit
def blocks_kernel(x_ptr, y_ptr, out_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    a, b = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)
    for _ in range(n):
        a, b = b, a + b
    tl.store(out_ptr + offsets, a)
    tl.store(out_ptr + N + offsets, b)


@pytest.mark.parametrize("size", [1, 8, 256])
def test_swapped_blocks(run, size):
    x, y = numbers(size, seed=1), numbers(size, seed=2)
    for n in (0, 1, 5):
        a, b = x, y
        for _ in range(n):
            a, b = b, a + b
        out = Expected(np.stack([a, b]))
        run(blocks_kernel, x_ptr=x, y_ptr=y, out_ptr=out, n=n, N=size)


@triton.jit
def exchanged_kernel(x_ptr, out_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    a, b = tl.load(x_ptr + offsets), tl.load(x_ptr + N + offsets)
    for _ in range(n):
        a, b = b, a
    tl.store(out_ptr + offsets, a)
    tl.store(out_ptr + N + offsets, b)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
@pytest.mark.parametrize("size", [8, 256])
def test_exchanged_blocks(run, size, n):
    x = numbers(2, size)
    run(exchanged_kernel, x_ptr=x, out_ptr=Expected(np.roll(x, n, axis=0)), n=n, N=size)


@triton.jit
def delayed_kernel(x_ptr, out_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    new = tl.load(x_ptr + offsets)
    old = tl.full((N,), -1, tl.int32)
    older = tl.full((N,), -2, tl.int32)
    for i in range(n):
        older = old
        old = new
        new += i
    tl.store(out_ptr + offsets, new)
    tl.store(out_ptr + N + offsets, old)
    tl.store(out_ptr + 2 * N + offsets, older)


@pytest.mark.parametrize("n", [0, 1, 2, 4])
def test_blocks_handed_on_from_turn_to_turn(run, n):
    new = numbers(64)
    states = [np.full(64, -2), np.full(64, -1), new]
    for i in range(n):
        states.append(states[-1] + i)
    out = Expected(np.stack(states[:-4:-1]).astype(np.int32))
    run(delayed_kernel, x_ptr=new, out_ptr=out, n=n, N=64)


@triton.jit
def rotated_kernel(x_ptr, out_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    a = tl.load(x_ptr + offsets)
    b = tl.load(x_ptr + N + offsets)
    c = tl.load(x_ptr + 2 * N + offsets)
    for _ in range(n):
        a, b, c = b + 1, c + 1, a + 1
    tl.store(out_ptr + offsets, a)
    tl.store(out_ptr + N + offsets, b)
    tl.store(out_ptr + 2 * N + offsets, c)


@pytest.mark.parametrize("n", [0, 1, 2, 4])
def test_rotated_blocks(run, n):
    x = numbers(3, 64)
    run(rotated_kernel, x_ptr=x, out_ptr=Expected(np.roll(x, -n, axis=0) + n), n=n, N=64)
