"""Addresses as values: stored, loaded, turned into numbers; blocks of three dimensions; casts."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from qemu_kernels import Expected


@triton.jit
def address_kernel(x_ptr, table_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    # Addresses of the elements from last to first, by way of numbers in memory.
    addresses = (x_ptr + (N - 1 - offsets)).to(tl.int64)
    tl.store(table_ptr + offsets, addresses)
    pointers = tl.load(table_ptr + offsets).to(tl.pointer_type(tl.float32))
    tl.store(out_ptr + offsets, tl.load(pointers))
    tl.store(out_ptr + N + offsets, tl.load(pointers + offsets % 2, mask=offsets > 0, other=-1.0))
    as_pointers = table_ptr.to(tl.pointer_type(tl.pointer_type(tl.float32)))
    tl.store(out_ptr + 2 * N, tl.load(tl.load(as_pointers + 3)))
    tl.store(as_pointers + offsets, x_ptr + offsets)
    tl.store(out_ptr + 2 * N + 1 + offsets, tl.load(tl.load(as_pointers + offsets)))
    # The table ends as numbers again that do not depend on where the arrays lie.
    tl.store(table_ptr + offsets, tl.load(table_ptr + offsets) - x_ptr.to(tl.int64))


@pytest.mark.skipif(
    tuple(map(int, triton.__version__.split(".")[:2])) >= (3, 9),
    reason="Triton 3.9 ends the process over a pointer to pointers",
)
def test_addresses_are_values(run):
    x = np.random.default_rng(1).standard_normal(32).astype(np.float32)
    places = np.arange(32)
    shifted = x[np.minimum(31 - places + places % 2, 31)]
    shifted[0] = -1
    out = np.concatenate([x[::-1], shifted, x[28:29], x])
    table = Expected(places * 4, np.zeros(32, np.int64))
    run(address_kernel, x_ptr=x, table_ptr=table, out_ptr=Expected(out), N=32)


@triton.jit
def cube_kernel(
    x_ptr, out_ptr, a_size, b_size, c_size, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr
):
    a, b = tl.arange(0, A)[:, None, None], tl.arange(0, B)[None, :, None]
    c = tl.arange(0, C)[None, None, :]
    inside = (a < a_size) & (b < b_size) & (c < c_size)
    places = (a * b_size + b) * c_size + c
    x = tl.load(x_ptr + places, mask=inside, other=0.5)
    y = x * 2 + tl.where(inside, 0, 100)
    tl.store(out_ptr + (a * B + b) * C + c, y)
    tl.store(x_ptr + places, y, mask=inside & (x > 0))


@pytest.mark.parametrize("shape", [(4, 8, 32), (3, 5, 27), (1, 8, 3)], ids=str)
def test_masked_blocks_of_three_dimensions(run, shape):
    x = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    out = np.full((4, 8, 32), 101, np.float32)
    out[: shape[0], : shape[1], : shape[2]] = x * 2
    after = np.where(x > 0, x * 2, x)
    names = ("a_size", "b_size", "c_size")
    run(
        cube_kernel,
        x_ptr=Expected(after, x),
        out_ptr=Expected(out),
        **dict(zip(names, shape, strict=True)),
        A=4,
        B=8,
        C=32,
    )


@triton.jit
def bits_kernel(x_ptr, out_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(tl.max_contiguous(tl.multiple_of(x_ptr + offsets, 16), 16))
    tl.assume(n > 0)
    bits = offsets
    if n > 3:
        bits = x.to(tl.int32, bitcast=True) ^ -(1 << 31)
    tl.debug_barrier()
    halves = x.to(tl.float16).to(tl.uint16, bitcast=True)
    tl.store(out_ptr + offsets, bits)
    tl.store(out_ptr + N + offsets, halves)
    total = tl.reshape(tl.sum(x, 0, keep_dims=True), ())
    tl.store(out_ptr + 2 * N, total.to(tl.int32, bitcast=True))


@pytest.mark.parametrize("n", [2, 4])
def test_bits_of_floats(run, n):
    x = np.random.default_rng(3).integers(-99, 99, 64).astype(np.float32)
    bits = (-x).view(np.int32) if n > 3 else np.arange(64)
    total = x.sum(keepdims=True).view(np.int32)
    out = np.concatenate([bits, x.astype(np.float16).view(np.uint16), total]).astype(np.int32)
    run(bits_kernel, x_ptr=x, out_ptr=Expected(out), n=n, N=64)


@triton.jit
def loops_kernel(x_ptr, out_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    pair = (x, tl.zeros_like(x))
    for outer in tl.range(0, n, num_stages=2):
        for inner in tl.range(outer, n, loop_unroll_factor=2):
            pair = (pair[1] + inner, pair[0] - outer)
        turn = 0
        while turn < outer and turn < 3:
            pair = (pair[0] * 2, pair[1])
            turn += 1
    for step in tl.static_range(3):
        pair = (pair[0] + step, pair[1])
    for back in range(n, 0, -2):
        pair = (pair[0], pair[1] * 3 + back)
    tl.store(out_ptr + offsets, pair[0])
    tl.store(out_ptr + N + offsets, pair[1])


@pytest.mark.parametrize("n", [0, 5])
def test_nested_loops_carry_tuples_of_blocks(run, n):
    a, b = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    x = a.copy()
    for outer in range(n):
        for inner in range(outer, n):
            a, b = b + inner, a - outer
        a = a * 2 ** min(outer, 3)
    a = a + 3
    for back in range(n, 0, -2):
        b = b * 3 + back
    run(loops_kernel, x_ptr=x, out_ptr=Expected(np.concatenate([a, b]).astype(np.int32)), n=n, N=32)
