"""Atomic updates: every operation and type, blocks and scalars, masks, the value before."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from qemu_kernels import Expected

from triton_rvv import RVVTarget, compile_kernel


@triton.jit
def integer_kernel(x_ptr, out_ptr, before_ptr, limit, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    mask = offsets < limit
    before = tl.atomic_add(out_ptr + offsets, x, mask=mask)
    tl.store(before_ptr + offsets, before, mask=mask)
    tl.atomic_max(out_ptr + N + offsets, x)
    tl.atomic_min(out_ptr + 2 * N + offsets, x)
    tl.atomic_and(out_ptr + 3 * N + offsets, x)
    tl.atomic_or(out_ptr + 4 * N + offsets, x)
    tl.atomic_xor(out_ptr + 5 * N + offsets, x, mask=mask)
    tl.atomic_xchg(out_ptr + 6 * N + offsets, x, sem="relaxed")
    # All into one place, and programs after one another.
    tl.atomic_add(out_ptr + 7 * N + 0 * offsets, x)
    tl.atomic_add(out_ptr + 7 * N + 1, 1)
    number = tl.atomic_add(out_ptr + 7 * N + 2, 5, sem="acquire")
    tl.store(out_ptr + 7 * N + 3 + tl.program_id(0), number)


@pytest.mark.parametrize(
    ("dtype", "alone"),
    [(np.int32, False), (np.uint32, True), (np.int64, True), (np.uint64, False)],
)
def test_integers(run, dtype, alone):
    size, limit, limits = 16, 11, np.iinfo(dtype)
    random = np.random.default_rng(1)
    x = random.integers(limits.min, limits.max, size, dtype, endpoint=True)
    start = random.integers(limits.min, limits.max, (8, size), dtype, endpoint=True)
    start[7] = 0
    inside = np.arange(size) < limit
    with np.errstate(over="ignore"):
        out = start.copy()
        out[0] += np.where(inside, x, 0).astype(dtype) * dtype(2)
        out[1], out[2] = np.maximum(out[1], x), np.minimum(out[2], x)
        out[3], out[4], out[6] = out[3] & x, out[4] | x, x
        out[7, :5] = x.sum(dtype=dtype) * dtype(2), 2, 10, 0, 5
        before = np.where(inside, start[0] + x, dtype(99)).astype(dtype)
    run(
        integer_kernel, x_ptr=x, out_ptr=Expected(out, start),
        before_ptr=Expected(before, np.full(size, 99, dtype)), limit=limit, N=size, grid=(2,),
        one_thread=alone,
    )  # fmt: skip


@triton.jit
def float_kernel(x_ptr, out_ptr, before_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    tl.store(before_ptr + offsets, tl.atomic_add(out_ptr + offsets // 2, x, mask=offsets != 3))
    tl.atomic_add(out_ptr + N, 0.5)


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_sums_of_floats(run, dtype, alone):
    # Eighths: every sum is exact in each type.
    size = 32
    values = torch.arange(size) % 7 / 8 - 0.25
    start = torch.zeros(size + 1, dtype=torch.float64)
    out, before = start.clone(), torch.zeros(size, dtype=torch.float64)
    for place in range(size):
        if place != 3:
            before[place] = out[place // 2]
            out[place // 2] += values[place]
    out[size] = 0.5
    run(
        float_kernel, x_ptr=values.to(dtype), out_ptr=Expected(out.to(dtype), start.to(dtype)),
        before_ptr=Expected(before.to(dtype)), N=size, one_thread=alone,
    )  # fmt: skip


@triton.jit
def float_extremes_kernel(x_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    tl.atomic_max(out_ptr + offsets, x, mask=offsets > 0)
    tl.atomic_min(out_ptr + N + offsets, x)
    tl.atomic_xchg(out_ptr + 2 * N, tl.load(x_ptr))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extremes_of_floats(run, dtype):
    random = np.random.default_rng(2)
    x, start = (random.standard_normal(count).astype(dtype) for count in (16, 33))
    out = np.concatenate([np.maximum(start[:16], x), np.minimum(start[16:32], x), x[:1]])
    out[0] = start[0]
    run(float_extremes_kernel, one_thread=True, x_ptr=x, out_ptr=Expected(out, start), N=16)


@triton.jit
def cas_kernel(x_ptr, out_ptr, before_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    before = tl.atomic_cas(out_ptr + offsets, x, x + 1)
    tl.store(before_ptr + offsets, before)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.int16, np.float16])
def test_compare_and_swap(run, dtype):
    x = np.arange(16).astype(dtype)
    start = np.where(np.arange(16) % 3 == 0, x, dtype(50)).astype(dtype)
    out = np.where(np.arange(16) % 3 == 0, x + dtype(1), start).astype(dtype)
    run(cas_kernel, x_ptr=x, out_ptr=Expected(out, start), before_ptr=Expected(start), N=16)


@triton.jit
def lock_kernel(lock_ptr, count_ptr, n):
    for _ in range(n):
        while tl.atomic_cas(lock_ptr, 0, 1) == 1:
            pass
        tl.store(count_ptr, tl.load(count_ptr) + 1)
        tl.debug_barrier()
        tl.atomic_xchg(lock_ptr, 0)


def test_a_lock(run):
    zero = np.zeros(1, np.int32)
    count = Expected(zero + 12, zero)
    run(lock_kernel, lock_ptr=Expected(zero, zero), count_ptr=count, n=4, grid=(3,))


@triton.jit
def order_kernel(x_ptr, y_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    before = tl.load(x_ptr + offsets)
    old = tl.atomic_add(x_ptr + offsets, tl.load(x_ptr + (N - 1) - offsets))
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets) * 10000 + before * 100 + old)


def test_loads_before_and_after_keep_their_place(run):
    x = np.arange(16, dtype=np.int32)
    after = x + x[::-1]
    y = Expected((after * 10000 + x * 100 + x).astype(np.int32))
    run(order_kernel, one_thread=True, x_ptr=Expected(after, x), y_ptr=y, N=16)


@triton.jit
def shared_places_kernel(
    x_ptr, place_ptr, out_ptr, rows, columns, R: tl.constexpr, C: tl.constexpr
):
    """Rows of one place, elements of one place, and those before a column, one after another."""
    row, column = tl.arange(0, R)[:, None], tl.arange(0, C)[None, :]
    mask = (row < rows) & (column < columns)
    place = tl.load(place_ptr + row, mask=row < rows, other=0)
    x = tl.load(x_ptr + row * C + column, mask=mask, other=0)
    tl.atomic_add(out_ptr + place * C + column, x, mask=mask)
    tl.atomic_add(out_ptr + 8 * C + (x & 3), x, mask=mask & (x >= 0))
    tl.atomic_max(out_ptr + 9 * C + place * 0 - column, x, mask=mask)


@pytest.mark.parametrize(("dtype", "shape"), [(np.int32, (13, 37)), (np.int64, (16, 64))])
def test_elements_of_one_place_count_one_after_another(run, dtype, shape):
    random = np.random.default_rng(3)
    x = random.integers(-99, 99, (16, 64)).astype(dtype)
    place = random.integers(0, 5, 16).astype(np.int32)
    start = random.integers(-9, 9, 10 * 64).astype(dtype)
    out = start.copy()
    for row in range(shape[0]):
        line = x[row, : shape[1]]
        out[place[row] * 64 :][: shape[1]] += line
        np.add.at(out, 8 * 64 + (line[line >= 0] & 3), line[line >= 0])
        np.maximum.at(out, 9 * 64 - np.arange(shape[1]), line)
    run(
        shared_places_kernel, one_thread=True, x_ptr=x, place_ptr=place,
        out_ptr=Expected(out, start), rows=shape[0], columns=shape[1], R=16, C=64,
    )  # fmt: skip


def test_they_are_atomic_instructions_and_no_calls():
    compiled = {
        kind: compile_kernel(
            float_kernel, dict.fromkeys(("x_ptr", "out_ptr", "before_ptr"), f"*{kind}"), {"N": 32},
            RVVTarget(),
        ).assembly
        for kind in ("fp16", "bf16", "fp64")
    }  # fmt: skip
    for assembly in compiled.values():
        assert "call" not in assembly
        assert "lr." in assembly
        assert "sc." in assembly
