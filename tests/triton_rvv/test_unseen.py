"""Lanes that a load's mask leaves out: 0 or `other` wherever they are seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected, KernelRunner

BLOCK = 128


def _numbers(size: int, dtype: type) -> npt.NDArray[Any]:
    return np.random.default_rng(size).integers(1, 100, size).astype(dtype)


@triton.jit
def looked_up_kernel(x_ptr, at_ptr, by_ptr, y_ptr, W, N, BLOCK: tl.constexpr):
    """Indices, what is there and what it is divided by, all under one mask."""
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = place < N
    at = tl.load(at_ptr + place % W, mask=mask)
    x = tl.load(x_ptr + at, mask=mask)
    tl.store(y_ptr + place, x // tl.load(by_ptr + place, mask=mask), mask=mask)


@pytest.mark.parametrize(
    ("dtype", "size"),
    in_turn([np.int8, np.int16, np.int32, np.int64], [1, 100, 300]),
)
def test_divided(run: KernelRunner, size: int, dtype: type) -> None:
    x, by = _numbers(50, dtype), _numbers(size, dtype)
    at = np.random.default_rng(1).integers(0, 50, 7).astype(np.int32)
    y = x[at[np.arange(size) % 7]] // by
    run(
        looked_up_kernel,
        grid=(-(-size // BLOCK),),
        x_ptr=x, at_ptr=at, by_ptr=by, y_ptr=Expected(y), W=7, N=size, BLOCK=BLOCK,
    )  # fmt: skip


@triton.jit
def seen_kernel(x_ptr, at_ptr, y_ptr, all_ptr, sum_ptr, N, M, BLOCK: tl.constexpr):
    """A load of which fewer lanes, as many, more and all lanes are stored, and a sum."""
    place = tl.arange(0, BLOCK)
    index = tl.load(at_ptr + place, mask=place < N)
    x = tl.load(x_ptr + index, mask=place < N)
    tl.store(y_ptr + place, x + 1, mask=(place < N) & (place < M))
    tl.store(y_ptr + BLOCK + place, x + 2, mask=place < N)
    tl.store(y_ptr + 2 * BLOCK + place, x + 3, mask=place < M)
    tl.store(all_ptr + place, x)
    # Lanes without an index take the first element.
    tl.store(all_ptr + BLOCK + place, tl.load(x_ptr + index))
    tl.store(sum_ptr, tl.sum(x, axis=0))


@pytest.mark.parametrize(
    ("count", "stored", "dtype"),
    in_turn(
        [(20, 100), (100, 20), (77, 77), (0, 128), (128, 5)], [np.int16, np.float32, np.float64]
    ),
)
def test_seen_elsewhere(run: KernelRunner, count: int, stored: int, dtype: type) -> None:
    x = _numbers(60, dtype)
    at = np.random.default_rng(count).integers(0, 60, BLOCK).astype(np.int32)
    place = np.arange(BLOCK)
    index = np.where(place < count, at, 0)
    values: npt.NDArray[Any] = np.where(place < count, x[index], 0).astype(dtype)
    y: npt.NDArray[Any] = np.full((3, BLOCK), 7, dtype)
    masks = (place < min(count, stored), place < count, place < stored)
    for row, mask in enumerate(masks):
        y[row, mask] = values[mask] + dtype(row + 1)
    run(
        seen_kernel,
        x_ptr=x, at_ptr=at, y_ptr=Expected(y, start=np.full_like(y, 7)),
        all_ptr=Expected(np.stack([values, x[index]])),
        sum_ptr=Expected(values.sum(dtype=dtype)[None]), N=count, M=stored, BLOCK=BLOCK,
    )  # fmt: skip


@triton.jit
def chosen_kernel(x_ptr, y_ptr, H, W, BLOCK: tl.constexpr):
    """Neighbours under a mask of their own, stored under another, and a choice by the first."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = at % W > 0
    x = tl.load(x_ptr + at, mask=at < H * W)
    before = tl.load(x_ptr + at - 1, mask=(at < H * W) & left, other=-5)
    tl.store(y_ptr + at, tl.where(left, x, before) + before, mask=at < H * W)


@pytest.mark.parametrize(("height", "width"), [(3, 50), (40, 4)])
def test_another_mask(run: KernelRunner, height: int, width: int) -> None:
    x = _numbers(height * width, np.float32).reshape(height, width)
    before = np.pad(x, ((0, 0), (1, 0)), constant_values=-5)[:, :-1]
    y = np.where(np.arange(width) > 0, x, before) + before
    run(
        chosen_kernel,
        grid=(-(-x.size // BLOCK),),
        x_ptr=x, y_ptr=Expected(y.astype(np.float32)), H=height, W=width, BLOCK=BLOCK,
    )  # fmt: skip


@triton.jit
def followed_kernel(big_ptr, at_ptr, x_ptr, z_ptr, y_ptr, N, BLOCK: tl.constexpr):
    """Indices that are stored, and where a load without a mask reads; large numbers go before."""
    place = tl.arange(0, BLOCK)
    tl.store(z_ptr + place, tl.load(big_ptr + place) * 3)
    index = tl.load(at_ptr + place, mask=place < N)
    tl.store(y_ptr + place, index + tl.load(x_ptr + index), mask=place < N)


@pytest.mark.parametrize("count", [0, 3, 100])
def test_addresses(run: KernelRunner, count: int) -> None:
    big = _numbers(BLOCK, np.int32) * 7_000_000
    x, at = _numbers(60, np.int32), np.arange(BLOCK, dtype=np.int32) % 60
    y = np.full(BLOCK, 7, np.int32)
    y[:count] = at[:count] + x[at[:count]]
    run(
        followed_kernel,
        big_ptr=big, at_ptr=at, x_ptr=x, z_ptr=Expected(big * 3),
        y_ptr=Expected(y, start=np.full_like(y, 7)), N=count, BLOCK=BLOCK,
    )  # fmt: skip
