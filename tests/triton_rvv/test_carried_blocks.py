"""Blocks that a loop hands on to its next turn, exchanged, rotated and delayed."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected

from triton_rvv import RVVTarget, compile_kernel


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


@pytest.mark.parametrize("size", in_turn([1, 256, 8], turns=2))
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


@pytest.mark.parametrize(
    ("n", "size"),
    in_turn([0, 1, 2, 3], [8, 256]),
)
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


@pytest.mark.parametrize("n", in_turn([0, 4, 1, 2], turns=2))
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


@pytest.mark.parametrize("n", in_turn([0, 4, 1, 2], turns=2))
def test_rotated_blocks(run, n):
    x = numbers(3, 64)
    run(rotated_kernel, x_ptr=x, out_ptr=Expected(np.roll(x, -n, axis=0) + n), n=n, N=64)


@triton.jit
def kept_kernel(x_ptr, out_ptr, n, N: tl.constexpr):
    """What is handed on was loaded before the store that follows."""
    offsets = tl.arange(0, N)
    old = tl.load(out_ptr + offsets)
    for i in range(n):
        new = tl.load(x_ptr + offsets)
        tl.store(x_ptr + offsets, old + i)
        old = new
    tl.store(out_ptr + offsets, old)


@pytest.mark.parametrize("size", [8, 1024])
def test_what_is_handed_on_was_loaded_before_a_store(run, size):
    x, old = numbers(size, seed=1), numbers(size, seed=2)
    values, kept = x, old
    for i in range(3):
        values, kept = kept + i, values
    run(
        kept_kernel,
        x_ptr=Expected(values, start=x),
        out_ptr=Expected(kept, start=old),
        n=3,
        N=size,
    )


@triton.jit
def elsewhere_kernel(x_ptr, places_ptr, turned_ptr, out_ptr, n, N: tl.constexpr):
    """Blocks are stored that read other elements of a block that changes in place."""
    offsets = tl.arange(0, N)
    square = offsets[:, None] * N + offsets[None, :]
    block = tl.load(x_ptr + square)
    for i in range(n):
        tl.store(turned_ptr + i * N * N + square, block.trans())
        block = block * 2
    row = tl.load(x_ptr + tl.arange(0, N * N))
    places = tl.load(places_ptr + tl.arange(0, N * N))
    for i in range(n):
        tl.store(out_ptr + i * N * N + tl.arange(0, N * N), tl.gather(row, places, 0))
        row = row * 2


def test_stores_of_other_elements_of_what_changes_in_place(run):
    x = numbers(32, 32)
    places = np.random.default_rng(1).permutation(1024).astype(np.int32)
    blocks = [x << i for i in range(3)]
    run(
        elsewhere_kernel,
        x_ptr=x,
        places_ptr=places,
        turned_ptr=Expected(np.stack([block.T for block in blocks])),
        out_ptr=Expected(np.stack([block.ravel()[places] for block in blocks])),
        n=3,
        N=32,
    )


@triton.jit
def wrapping_kernel(x_ptr, out_ptr, first, end, N: tl.constexpr):
    offsets = tl.arange(0, N)
    total = tl.zeros((N,), tl.int32)
    for _ in range(3):
        x = tl.load(x_ptr + offsets)
        tl.store(x_ptr + offsets, x * 2, mask=(first + offsets).to(tl.int64) < end)
        total += x
    tl.store(out_ptr + offsets, total)


def test_sums_of_what_a_store_doubles_where_its_mask_wraps(run):
    x, first = numbers(1024), (1 << 31) - 7
    doubled = np.arange(1024) >= 7
    run(
        wrapping_kernel,
        x_ptr=Expected(np.where(doubled, x * 8, x), start=x),
        out_ptr=Expected(np.where(doubled, x * 7, x * 3)),
        first=first,
        end=np.int64(100),
        N=1024,
    )


@triton.jit
def nearest_kernel(x_ptr, y_ptr, out_ptr, D, ROWS: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, N)
    distance = tl.zeros((ROWS, N), tl.float32)
    for d in range(D):
        difference = tl.load(x_ptr + rows * D + d)[:, None] - tl.load(y_ptr + d * N + columns)
        distance += difference * difference
    tl.store(out_ptr + rows, tl.argmin(distance, axis=1))


def test_what_is_searched_stays_in_registers():
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*i32", "D": "i32"}
    compiled = compile_kernel(nearest_kernel, signature, {"ROWS": 4, "N": 32}, RVVTarget())
    assert "alloca" not in compiled.llir
