"""The project's row softmax against NumPy in double precision."""

from __future__ import annotations

import numpy as np
import pytest
from pairs import in_turn
from qemu_kernels import Expected

from kernels.registry import load_kernel

KERNEL = load_kernel("softmax").kernel


def softmax(x):
    """Softmax of each row; a row whose largest value is not finite becomes NaN where it is."""
    with np.errstate(invalid="ignore"):
        numerator = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
        return (numerator / numerator.sum(axis=1, keepdims=True)).astype(np.float32)


def run_softmax(run, x, block_rows, pad=(0, 0), **options):
    """Rows are followed by `pad` elements more, in the input and in the output."""
    rows, columns = x.shape
    padded = np.full((rows, columns + pad[0]), np.nan, np.float32)
    padded[:, :columns] = x
    start = np.full((rows, columns + pad[1]), -5, np.float32)
    expected = start.copy()
    expected[:, :columns] = softmax(x)
    run(
        KERNEL,
        output_ptr=Expected(expected, start=start, atol=1e-7, rtol=1e-6),
        input_ptr=padded,
        input_row_stride=columns + pad[0],
        output_row_stride=columns + pad[1],
        n_rows=rows,
        n_cols=columns,
        BLOCK_SIZE_M=block_rows,
        BLOCK_SIZE_N=1 << (columns - 1).bit_length(),
        grid=(-(-rows // block_rows),),
        **options,
    )


def normal(rows, columns):
    random = np.random.default_rng(rows * columns)
    return 3 * random.standard_normal((rows, columns), dtype=np.float32)


@pytest.mark.parametrize(
    ("rows", "columns", "block_rows", "vlen_bits"),
    in_turn([(1, 1), (5, 3), (7, 100), (4, 1025), (3, 64)], [1, 4], [128, 256, 512]),
)
def test_ragged_rows(run, rows, columns, block_rows, vlen_bits):
    run_softmax(run, normal(rows, columns), block_rows, vlen_bits=vlen_bits)


@pytest.mark.parametrize("block_rows", in_turn([1, 8, 2], turns=2))
def test_rows_that_are_not_contiguous(run, block_rows):
    run_softmax(run, normal(5, 77), block_rows, pad=(19, 6))


def test_specialised_sizes(run):
    sizes = ("input_row_stride", "output_row_stride", "n_rows", "n_cols")
    run_softmax(run, normal(1, 64), 2, known=sizes)
    run_softmax(run, normal(4, 1), 2, known=sizes)


def test_extreme_inputs(run):
    x = normal(9, 45)
    x[0, :] = 3e38
    x[1, :] = -3e38
    x[2, 7] = 100000
    x[3, 10:] = -np.inf
    x[4, 0] = np.inf  # inf - inf is NaN there; the rest of the row is divided by it
    x[5, :] = -np.inf
    x[6, ::2] = -100  # results near the smallest normal number
    x[7, :] = 0
    x[8, 44] = 80
    run_softmax(run, x, 4)
