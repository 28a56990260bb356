"""The project's matrix product against NumPy, for ragged shapes and many blocks."""

from __future__ import annotations

import numpy as np
import pytest
from pairs import in_turn
from qemu_kernels import Expected

from kernels.registry import load_kernel

KERNEL = load_kernel("matmul").kernel
SHAPES = ((100, 70, 77), (1, 1, 1), (33, 257, 65))
# M, N, K of a block.
BLOCKS = (
    (64, 64, 32),
    (4, 64, 16),
    (32, 16, 128),
    (1, 32, 16),
    (16, 8, 1),
    (64, 4, 8),
    (16, 16, 16),
    (8, 32, 4),
    (128, 128, 64),
    (32, 1, 16),
    (2, 2, 2),
    (1, 1, 1),
)


def matrices(m, n, k):
    random = np.random.default_rng(m + n + k)
    a = random.standard_normal((m, k), dtype=np.float32)
    b = random.standard_normal((k, n), dtype=np.float32)
    c = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
    # The same bound as the project's own: rounding errors grow with the root of K.
    return a, b, Expected(c, atol=4e-6 * k**0.5, rtol=1e-5)


def arguments(shape, block, group=8):
    m, n, k = shape
    a, b, c = matrices(m, n, k)
    return {
        "a_ptr": a,
        "b_ptr": b,
        "c_ptr": c,
        **dict(zip("MNK", shape, strict=True)),
        **{"stride_am": k, "stride_ak": 1, "stride_bk": n, "stride_bn": 1},
        **{"stride_cm": n, "stride_cn": 1},
        **{f"BLOCK_SIZE_{d}": size for d, size in zip("MNK", block, strict=True)},
        "GROUP_SIZE_M": group,
        "grid": (-(-m // block[0]) * -(-n // block[1]),),
    }


@pytest.mark.parametrize(
    ("block", "vlen_bits"), in_turn([(block,) for block in BLOCKS], [256, 128, 512], turns=3)
)
def test_ragged_shapes(run, block, vlen_bits):
    unit_strides = ("stride_ak", "stride_bn", "stride_cn")
    for shape in SHAPES:
        run(KERNEL, **arguments(shape, block), vlen_bits=vlen_bits, known=unit_strides)


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param((48, 80, 32), marks=pytest.mark.long),
        pytest.param((33, 257, 65), marks=pytest.mark.long),
        (5, 70, 33),
        (1, 1, 1),
    ],
)
def test_specialised_for_every_size(run, shape):
    values = arguments(shape, (16, 32, 16))
    sizes = [name for name in values if name in "MNK" or name.startswith("stride")]
    run(KERNEL, **values, known=sizes)


def test_nothing_known_of_the_strides(run):
    run(KERNEL, **arguments((33, 70, 65), (16, 32, 16)))


def test_transposed_and_padded_operands(run):
    m, n, k = 33, 40, 21
    a, b, c = matrices(m, n, k)
    padded_a = np.full((m, 2 * k + 3), np.nan, np.float32)
    padded_a[:, : 2 * k : 2] = a
    start = np.full((n, m + 5), 7, np.float32)
    expected = start.copy()
    expected[:, :m] = c.array.T
    values = arguments((m, n, k), (16, 16, 8)) | {
        "a_ptr": padded_a,
        "stride_am": 2 * k + 3,
        "stride_ak": 2,
        "b_ptr": np.ascontiguousarray(b.T),
        "stride_bk": 1,
        "stride_bn": k,
        "c_ptr": Expected(expected, start=start, atol=c.atol, rtol=c.rtol),
        "stride_cm": 1,
        "stride_cn": m + 5,
    }
    run(KERNEL, **values)
    run(KERNEL, **values, known=("stride_bk", "stride_cm"))


@pytest.mark.parametrize(
    "group", [pytest.param(1, marks=pytest.mark.long), 3, pytest.param(100, marks=pytest.mark.long)]
)
def test_order_of_programs(run, group):
    run(KERNEL, **arguments((50, 40, 8), (16, 16, 8), group), known=("stride_ak", "stride_bn"))


def test_infinities_and_nan_stay_in_their_rows(run):
    values = arguments((20, 24, 9), (16, 16, 4))
    a, b = values["a_ptr"].copy(), values["b_ptr"]
    a[3, 2], a[19, 8] = np.inf, np.nan
    with np.errstate(invalid="ignore"):
        c = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
    assert np.isinf(c[3]).all()
    values |= {"a_ptr": a, "c_ptr": Expected(c, atol=2e-5, rtol=1e-5)}
    run(KERNEL, **values, known=("stride_ak", "stride_bn", "stride_cn"))
