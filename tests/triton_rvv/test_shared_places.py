"""Places in memory that lanes, blocks of one iteration, or iterations share by run-time strides."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected


@triton.jit
def cube_kernel(x_ptr, start, s0, s1, s2, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, j = tl.arange(0, M)[:, None, None] * s0, tl.arange(0, N)[None, :, None] * s1
    places = x_ptr + start + i + j + tl.arange(0, K)[None, None, :] * s2
    tl.store(places, tl.load(places) * 2 + 1)


@pytest.mark.parametrize("strides", [(0, 4, 1), (-1, 8, 1), (2, 0, 3)], ids=str)
def test_three_dimensions(run, strides):
    x = np.random.default_rng(1).integers(-9, 9, 256).astype(np.float32)
    indices = np.meshgrid(np.arange(4), np.arange(4), np.arange(8), indexing="ij")
    places = 16 + sum(index * stride for index, stride in zip(indices, strides, strict=True))
    after = x.copy()
    after[places] = x[places] * 2 + 1
    names = dict(zip(("s0", "s1", "s2"), strides, strict=True))
    run(cube_kernel, x_ptr=Expected(after, start=x), start=16, M=4, N=4, K=8, **names)


@triton.jit
def moved_kernel(x_ptr, row, column, to_row, to_column, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    tl.store(x_ptr + i * to_row + j * to_column, tl.load(x_ptr + i * row + j * column))


@pytest.mark.parametrize(
    ("before", "to"), in_turn([((16, 1), (1, 8)), ((1, 8), (16, 1)), ((17, 1), (16, 1))], turns=1)
)
def test_blocks_move_within_an_array(run, before, to):
    x = np.random.default_rng(2).standard_normal(256).astype(np.float32)
    i, j = np.arange(8)[:, None], np.arange(8)
    after = x.copy()
    after[i * to[0] + j * to[1]] = x[i * before[0] + j * before[1]]
    run(
        moved_kernel, x_ptr=Expected(after, start=x), row=before[0], column=before[1],
        to_row=to[0], to_column=to[1], M=8, N=8,
    )  # fmt: skip


@triton.jit
def recurrence_kernel(x_ptr, start, step, n, N: tl.constexpr):
    x_ptr += start + tl.arange(0, N)
    for k in range(n):
        first, second = tl.load(x_ptr + k * step), tl.load(x_ptr + (k + 1) * step)
        tl.store(x_ptr + (k + 2) * step, first + second)


@pytest.mark.parametrize("step", in_turn([3, 0, -1, 16], turns=4))
def test_iterations_read_what_earlier_ones_stored(run, step):
    x = np.random.default_rng(3).integers(0, 5, 160).astype(np.int32)
    after = x.copy()
    for k in range(5):
        first, second, third = (after[40 + (k + late) * step :][:16] for late in range(3))
        third[:] = first.copy() + second.copy()
    run(recurrence_kernel, x_ptr=Expected(after, start=x), start=40, step=step, n=5, N=16)


@triton.jit
def narrow_kernel(x_ptr, at_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    at = tl.load(at_ptr + i)
    tl.store(y_ptr + i, tl.load(x_ptr + 256 + (at + at)))


@pytest.mark.parametrize("dtype", in_turn([np.int8, np.uint8], turns=2))
def test_indices_wrap_in_their_own_type(run, dtype):
    draw, limits = np.random.default_rng(4), np.iinfo(dtype)
    x = draw.standard_normal(600).astype(np.float32)
    at = draw.integers(limits.min, limits.max + 1, 64).astype(dtype)
    run(narrow_kernel, x_ptr=x, at_ptr=at, y_ptr=Expected(x[256 + (at + at).astype(int)]), N=64)
