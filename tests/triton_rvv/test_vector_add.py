"""The project's vector addition, and masks at the ends of one-dimensional blocks."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected

from kernels.registry import load_kernel

KERNEL = load_kernel("vector_add").kernel
SENTINEL = -12345.0


def vectors(n, dtype=np.float32):
    """Two vectors and their sum, which has to stop before 40 more elements."""
    random = np.random.default_rng(n)
    x, y = (random.standard_normal(n).astype(dtype) for _ in range(2))
    start = np.full(n + 40, SENTINEL, dtype)
    expected = start.copy()
    expected[:n] = x + y
    return x, y, Expected(expected, start=start)


@pytest.mark.parametrize(
    ("vlen_bits", "block"),
    in_turn([128, 256, 512, 1024], [1, 2, 16, 64, 1024]),
)
def test_sizes(run, block, vlen_bits):
    for n in (1, 7, 64, 1000):
        x, y, output = vectors(n)
        run(
            KERNEL,
            x_ptr=x,
            y_ptr=y,
            output_ptr=output,
            n_elements=n,
            BLOCK_SIZE=block,
            grid=(-(-n // block),),
            vlen_bits=vlen_bits,
        )


@pytest.mark.parametrize("dtype", [np.float64, np.int8, np.int16, np.int32, np.int64])
def test_element_types(run, dtype):
    n = 333
    x, y, output = vectors(n, np.float64)
    if dtype is not np.float64:
        x, y = (100 * x).astype(dtype), (100 * y).astype(dtype)
        start = np.full(n + 40, 99, dtype)
        with np.errstate(over="ignore"):
            output = Expected(np.concatenate([x + y, start[n:]]), start=start)
    run(KERNEL, x_ptr=x, y_ptr=y, output_ptr=output, n_elements=n, BLOCK_SIZE=128, grid=(3,))


@triton.jit
def copy_kernel(x_ptr, out_ptr, first, last, other, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = (offsets >= first) & (offsets < last)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=inside, other=other))


@pytest.mark.parametrize(
    ("first", "last"), in_turn([(0, 128), (90, 10), (5, 100), (64, 65), (127, 300)], turns=3)
)
def test_other_fills_what_the_mask_leaves_out(run, first, last):
    x = np.arange(128, dtype=np.float32)
    expected = np.where((x >= first) & (x < last), x, np.float32(-np.inf))
    values = {"first": first, "last": last, "other": -float("inf"), "BLOCK": 32, "grid": (4,)}
    run(copy_kernel, x_ptr=x, out_ptr=Expected(expected), **values)


@triton.jit
def interval_kernel(x_ptr, out_ptr, n, step, KIND: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    position = offsets * step
    if KIND == "<":
        mask, mirrored = position < n, n > position
    elif KIND == "<=":
        mask, mirrored = position <= n, n >= position
    elif KIND == ">":
        mask, mirrored = position > n, n < position
    elif KIND == ">=":
        mask, mirrored = position >= n, n <= position
    elif KIND == "==":
        mask, mirrored = position == n, n == position
    else:
        mask, mirrored = position != n, n != position
    x = tl.load(x_ptr + offsets, mask=mask, other=-1)
    tl.store(out_ptr + offsets, x, mask=mask)
    tl.store(out_ptr + BLOCK + offsets, x, mask=mirrored)


COMPARISONS = {
    "<": np.less,
    ">=": np.greater_equal,
    "==": np.equal,
    "<=": np.less_equal,
    ">": np.greater,
    "!=": np.not_equal,
}


@pytest.mark.parametrize("kind", in_turn([*COMPARISONS], turns=2))
def test_masks_of_every_direction(run, kind):
    x = np.arange(100, 164, dtype=np.int32)
    start = np.zeros((2, 64), np.int32)
    for step in (1, 3, -2, 0):
        for n in (-200, -9, 0, 63, 400):
            row = np.where(COMPARISONS[kind](np.arange(64) * step, n), x, 0).astype(np.int32)
            out = Expected(np.stack([row, row]), start=start)
            run(interval_kernel, x_ptr=x, out_ptr=out, n=n, step=step, KIND=kind, BLOCK=64)
