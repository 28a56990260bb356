"""Rows of blocks that are walked in parts, beside numbers of rows and lines that all rows share."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected, KernelRunner


@triton.jit
def halves_kernel(
    x_ptr, row_ptr, line_ptr, y_ptr, z_ptr, first, rows, size, half, period,
    R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    row, d = first + tl.arange(0, R), tl.arange(0, C)
    inside = (row < rows)[:, None] & (d < size)[None, :]
    partner = tl.where(d < half, d + half, d - half)
    sign = tl.where(d < half, -1, 1)
    at = x_ptr + row[:, None] * size
    x = tl.load(at + d[None, :], mask=inside, other=7)
    other = tl.load(at + partner[None, :], mask=inside, other=-9)
    of_row = tl.load(row_ptr + (row + 1) % period, mask=row < rows)
    of_line = tl.load(line_ptr + tl.maximum(d - 1, 0), mask=d < size, other=3)
    y = x * of_row[:, None] + other * (sign * of_line)[None, :]
    to = tl.arange(0, R)[:, None]
    tl.store(y_ptr + to * size + d[None, :], y, mask=inside)
    # More is stored than is loaded: what is not loaded counts.
    wide = (row < rows)[:, None] & (d < size + 2)[None, :]
    tl.store(z_ptr + to * (size + 2) + d[None, :], other * sign[None, :], mask=wide)


@pytest.mark.parametrize(
    ("sizes", "shape", "vlen_bits"),
    in_turn(
        [
            ((0, 11, 96, 48, 3), (16, 128), 256),
            ((0, 16, 96, 40, 3), (16, 128), 128),
            ((2, 5, 250, 125, 5), (4, 256), 256),
            ((0, 3, 6, 3, 2), (4, 32), 1024),
            ((0, 7, 61, 30, 9), (8, 64), 256),
            ((0, 4, 60, 0, 7), (4, 64), 128),
            ((0, 4, 30, 64, 1), (4, 32), 256),
        ],
        turns=2,
    ),
)
def test_halves_change_places(
    run: KernelRunner, sizes: tuple[int, ...], shape: tuple[int, int], vlen_bits: int
) -> None:
    first, rows, size, half, period = sizes
    generator = np.random.default_rng(5)
    x = generator.integers(-1000, 1000, rows * size + 128).astype(np.int32)
    of_row = generator.integers(-9, 9, period).astype(np.int32)
    line = generator.integers(-9, 9, size).astype(np.int32)
    d, row = np.arange(size), np.arange(first, rows)
    starts = row[:, None] * size
    partner, sign = np.where(d < half, d + half, d - half), np.where(d < half, -1, 1)
    here, other = x[starts + d], x[starts + partner]
    y = here * of_row[(row + 1) % period][:, None] + other * sign * line[np.maximum(d - 1, 0)]
    beyond = -9 * np.where(np.arange(size, size + 2) < half, -1, 1)
    z = np.concatenate([other * sign, np.tile(beyond, (len(row), 1))], axis=1).astype(np.int32)
    y = y.astype(np.int32)
    run(
        halves_kernel,
        x_ptr=x, row_ptr=of_row, line_ptr=line, y_ptr=Expected(y), z_ptr=Expected(z),
        first=first, rows=rows, size=size, half=half, period=period, R=shape[0], C=shape[1],
        vlen_bits=vlen_bits,
    )  # fmt: skip
