"""Loops and conditionals with every kind of carried value."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).integers(-9999, 9999, shape).astype(np.int32)


@triton.jit
def scalars_kernel(out_ptr, n, STEP: tl.constexpr):
    a, b, total = 0, 1, 0
    product = tl.full((), 1.0, tl.float32)
    for i in range(0, n, STEP):
        a, b = b, a + b
        total += i
        product *= 1.5
    tl.store(out_ptr, a)
    tl.store(out_ptr + 1, b)
    tl.store(out_ptr + 2, total)
    tl.store(out_ptr + 3, (product * 16).to(tl.int32))


@pytest.mark.parametrize(
    ("n", "step"),
    in_turn([-3, 0, 1, 2, 9], [1, 3]),
)
def test_carried_scalars(run, n, step):
    a, b, total, product = 0, 1, 0, 1.0
    for i in range(0, n, step):
        a, b, total, product = b, a + b, total + i, product * 1.5
    expected = np.array([a, b, total, int(product * 16)], np.int32)
    run(scalars_kernel, out_ptr=Expected(expected), n=n, STEP=step)


@triton.jit
def backwards_kernel(out_ptr, n):
    total = 0
    for i in range(n, 0, -2):
        total = total * 3 + i
    tl.store(out_ptr, total)


@pytest.mark.parametrize("n", [0, 1, 6, 7])
def test_loop_that_counts_down(run, n):
    total = 0
    for i in range(n, 0, -2):
        total = total * 3 + i
    run(backwards_kernel, out_ptr=Expected(np.array([total], np.int32)), n=n)


@triton.jit
def pointers_kernel(x_ptr, out_ptr, n, stride, N: tl.constexpr):
    offsets = tl.arange(0, N)
    pointers = x_ptr + offsets
    scalar_pointer = x_ptr
    total = tl.zeros((N,), tl.int32)
    for _ in range(n):
        total += tl.load(pointers) * tl.load(scalar_pointer)
        pointers += stride
        scalar_pointer += stride
    tl.store(out_ptr + offsets, total)


def test_carried_pointers(run):
    x = numbers(5, 40) // 100
    total = (x[:, :32] * x[:, :1]).sum(axis=0).astype(np.int32)
    run(pointers_kernel, x_ptr=x, out_ptr=Expected(total), n=5, stride=40, N=32)


@triton.jit
def spreading_kernel(x_ptr, out_ptr, n, N: tl.constexpr):
    start = tl.arange(0, N)
    offsets = start
    total = tl.zeros((N,), tl.int32)
    for _ in range(n):
        total += tl.load(x_ptr + offsets)
        offsets += start + 1
    tl.store(out_ptr + start, total)
    tl.store(out_ptr + N + start, offsets)


@pytest.mark.parametrize("size", [8, 128])
def test_offsets_whose_spacing_changes(run, size):
    x, i = numbers(8 * size), np.arange(size)
    for n in (0, 1, 4):
        total = sum((x[i + k * (i + 1)] for k in range(n)), np.zeros(size, np.int32))
        out = Expected(np.stack([total, i + n * (i + 1)]).astype(np.int32))
        run(spreading_kernel, x_ptr=x, out_ptr=out, n=n, N=size)


@triton.jit
def swapped_offsets_kernel(x_ptr, out_ptr, n, N: tl.constexpr):
    a = tl.arange(0, N)
    b = a + N
    for _ in range(n):
        a, b = b, a + 1
    tl.store(out_ptr + tl.arange(0, N), tl.load(x_ptr + a) - tl.load(x_ptr + b))


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_swapped_offsets(run, n):
    x, size = numbers(200), 64
    a, b = np.arange(size), np.arange(size) + size
    for _ in range(n):
        a, b = b, a + 1
    run(swapped_offsets_kernel, x_ptr=x, out_ptr=Expected(x[a] - x[b]), n=n, N=size)


@triton.jit
def nested_kernel(x_ptr, out_ptr, m, n, N: tl.constexpr):
    columns = tl.arange(0, N)
    total = tl.zeros((N,), tl.int32)
    for i in range(m):
        row = tl.zeros((N,), tl.int32)
        for j in range(i, n):
            row += tl.load(x_ptr + (i * n + j) * N + columns)
        total += row * (i + 1)
        tl.store(out_ptr + (i + 1) * N + columns, row)
    tl.store(out_ptr + columns, total)


def test_nested_loops(run):
    m, n, size = 3, 4, 64
    x = numbers(m, n, size)
    rows = np.stack([x[i, i:].sum(axis=0) for i in range(m)])
    total = (rows * np.arange(1, m + 1)[:, None]).sum(axis=0)
    out = Expected(np.concatenate([total[None], rows]).astype(np.int32))
    run(nested_kernel, x_ptr=x, out_ptr=out, m=m, n=n, N=size)


@triton.jit
def if_kernel(x_ptr, out_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    if n > 10:
        y = x * 2
        scalar = n
        moved = offsets
    elif n > 5:
        y = x - offsets
        scalar = n * n
        moved = N - 1 - offsets
    else:
        y = x
        scalar = -1
        moved = offsets // 2
    tl.store(out_ptr + offsets, y + scalar)
    tl.store(out_ptr + N + offsets, tl.load(x_ptr + moved))
    if n == 7:
        tl.store(out_ptr + 2 * N + offsets, x)


@pytest.mark.parametrize("n", [0, 7, 8, 11])
def test_conditionals_with_results(run, n):
    size = 64
    x, i = numbers(size), np.arange(size)
    y, scalar, moved = (x, -1, i // 2)
    if n > 5:
        y, scalar, moved = (x - i, n * n, size - 1 - i)
    if n > 10:
        y, scalar, moved = (x * 2, n, i)
    last = x if n == 7 else np.zeros_like(x)
    expected = np.stack([y + scalar, x[moved], last]).astype(np.int32)
    out = Expected(expected, start=np.zeros_like(expected))
    run(if_kernel, x_ptr=x, out_ptr=out, n=n, N=size)


@triton.jit
def if_in_loop_kernel(x_ptr, out_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    low = tl.full((N,), 1 << 30, tl.int32)
    count = 0
    for i in range(n):
        x = tl.load(x_ptr + i * N + offsets)
        if tl.sum(x, axis=0) > 0:
            low = tl.minimum(low, x)
            count += 1
    tl.store(out_ptr + offsets, low)
    tl.store(out_ptr + N, count)


def test_conditionals_in_loops(run):
    x = numbers(9, 32)
    chosen = x[x.sum(axis=1) > 0]
    assert 0 < len(chosen) < 9
    out = Expected(np.array([*chosen.min(axis=0), len(chosen)], np.int32))
    run(if_in_loop_kernel, x_ptr=x, out_ptr=out, n=9, N=32)


@triton.jit
def expensive_kernel(x_ptr, out_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    weight = tl.exp(x) / (1 + tl.exp(x))
    total = tl.zeros((N,), tl.float32)
    for i in range(n):
        total += weight * i
        tl.store(x_ptr + offsets, total)
    tl.store(out_ptr + offsets, weight)
    tl.store(out_ptr + N + offsets, x + total)


@pytest.mark.parametrize("n", [0, 4])
def test_costly_values_used_in_a_loop_that_changes_their_source(run, n):
    x = np.random.default_rng(1).standard_normal(128).astype(np.float32)
    weight = 1 / (1 + np.exp(-x.astype(np.float64)))
    total = weight * sum(range(n))
    run(
        expensive_kernel,
        x_ptr=Expected((total if n else x).astype(np.float32), start=x, rtol=1e-5),
        out_ptr=Expected(np.stack([weight, x + total]).astype(np.float32), rtol=1e-5, atol=1e-5),
        n=n,
        N=128,
    )


@triton.jit
def histogram_kernel(x_ptr, out_ptr, n):
    for i in range(n):
        value = tl.load(x_ptr + i)
        tl.store(out_ptr + value, tl.load(out_ptr + value) + 1)


def test_scalar_loads_and_stores_in_a_loop(run):
    x = np.random.default_rng(2).integers(0, 10, 100).astype(np.int32)
    counts = np.bincount(x, minlength=10).astype(np.int32)
    out = Expected(counts, start=np.zeros(10, np.int32))
    run(histogram_kernel, x_ptr=x, out_ptr=out, n=100)


@triton.jit
def prefix_kernel(x_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    for i in range(1, n):
        before = tl.load(x_ptr + (i - 1) * N + offsets)
        here = tl.load(x_ptr + i * N + offsets)
        tl.store(x_ptr + i * N + offsets, before + here)


@pytest.mark.parametrize("size", [8, 256])
def test_stores_are_seen_by_the_next_turn(run, size):
    x = numbers(6, size)
    expected = Expected(x.cumsum(axis=0, dtype=np.int32), start=x)
    run(prefix_kernel, x_ptr=expected, n=6, N=size)


@triton.jit
def loaded_carry_kernel(x_ptr, out_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    current = tl.load(x_ptr + offsets)
    for i in range(1, n):
        following = tl.load(x_ptr + i * N + offsets)
        tl.store(out_ptr + (i - 1) * N + offsets, following - current)
        current = following


def test_loaded_blocks_carried_to_the_next_turn(run):
    x = numbers(5, 128)
    run(loaded_carry_kernel, x_ptr=x, out_ptr=Expected(np.diff(x, axis=0)), n=5, N=128)


@triton.jit
def wide_counter_kernel(out_ptr, first, last):
    total = first * 0
    for i in range(first, last):
        total += i
    tl.store(out_ptr, total)


def test_loop_over_64_bits(run):
    first = 2**40
    expected = np.array([sum(range(first, first + 5))])
    last = np.int64(first + 5)
    run(wide_counter_kernel, out_ptr=Expected(expected), first=np.int64(first), last=last)


@triton.jit
def inner_kernel(x, factor):
    return x * factor + 1, x - factor


@triton.jit
def call_kernel(x_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    a, b = inner_kernel(tl.load(x_ptr + offsets), 3)
    a, b = inner_kernel(a + b, a - b)
    tl.store(out_ptr + offsets, a + b)


def test_called_functions(run):
    x = numbers(64) // 100
    a, b = x * 3 + 1, x - 3
    a, b = (a + b) * (a - b) + 1, (a + b) - (a - b)
    run(call_kernel, x_ptr=x, out_ptr=Expected(a + b), N=64)
