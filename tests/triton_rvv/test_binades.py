"""Powers and logarithms at the ends of every binade, in runs of any length."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected

_FUNCTIONS = (np.log, np.log2, np.exp, np.exp2)


@triton.jit
def edges_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, tl.log(x))
    tl.store(y_ptr + n + at, tl.log2(x))
    tl.store(y_ptr + 2 * n + at, tl.exp(tl.minimum(x - 0.0, 40.0)))
    tl.store(y_ptr + 3 * n + at, tl.exp2(tl.minimum(x - 0.0, 40.0)))


def _edges() -> np.ndarray:
    """Both neighbours of every power of two and of the middle of its binade, of both signs."""
    starts = np.concatenate([[0], 1 << np.arange(23), np.arange(1, 256) << 23])
    middles = np.arange(1, 255) * (1 << 23) + 0x3504F3
    bits = np.concatenate([starts - 1, starts, starts + 1, middles, middles + 1])
    bits = np.unique(bits.astype(np.int64) & 0x7FFFFFFF)
    both = np.concatenate([bits, bits | 0x80000000]).astype(np.uint32)
    return np.resize(both, 4096).view(np.float32)


@pytest.mark.parametrize(("vlen_bits", "block"), [(128, 64), (256, 64), (512, 64), (256, 4)])
def test_edges_of_binades(run, vlen_bits, block):
    x = _edges()
    with np.errstate(invalid="ignore"):
        wide = x.astype(np.float64)
    limited = np.where(np.isnan(wide), 40.0, np.fmin(wide, 40.0))
    with np.errstate(all="ignore"):
        pairs = zip(_FUNCTIONS, (wide, wide, limited, limited), strict=True)
        results = [f(each) for f, each in pairs]
        expected = np.concatenate(results).astype(np.float32)
    run(
        edges_kernel,
        x_ptr=x,
        y_ptr=Expected(expected, rtol=2.0**-22, atol=2.0**-149),
        n=len(x),
        BLOCK=block,
        grid=(len(x) // block,),
        vlen_bits=vlen_bits,
    )


@triton.jit
def sums_kernel(x_ptr, sums_ptr, N, BLOCK: tl.constexpr):
    """Three sums of one row, of which one is of costly elements."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    x = tl.load(x_ptr + row * N + columns, mask=mask, other=-float("inf"))
    x = x - tl.max(x, axis=0)
    tl.store(sums_ptr + 3 * row, tl.sum(tl.exp(x), axis=0))
    tl.store(sums_ptr + 3 * row + 1, tl.sum(tl.where(columns == row % N, x, 0.0), axis=0))
    tl.store(sums_ptr + 3 * row + 2, tl.sum(tl.where(mask, x, 0.0), axis=0))


@pytest.mark.parametrize(
    ("vlen_bits", "columns"),
    in_turn([128, 256, 512], [1, 31, 64, 100, 256]),
)
def test_sums_that_runs_of_a_row_share(run, vlen_bits, columns):
    rows = 8
    x = np.random.default_rng(columns).normal(size=(rows, columns)).astype(np.float32)
    wide = x.astype(np.float64) - x.max(axis=1, keepdims=True)
    chosen = [wide[row, row % columns] for row in range(rows)]
    sums = np.stack([np.exp(wide).sum(axis=1), chosen, wide.sum(axis=1)], axis=1)
    run(
        sums_kernel,
        x_ptr=x,
        sums_ptr=Expected(sums.astype(np.float32), rtol=1e-5, atol=1e-5),
        N=columns,
        BLOCK=256,
        grid=(rows,),
        vlen_bits=vlen_bits,
    )
