"""Reductions of several results together, whose combination commutes by algebra."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected

from triton_rvv.lowering.ttir.commutative import are_equal


@triton.jit
def _joined(mean_a, squares_a, count_a, mean_b, squares_b, count_b):
    count = count_a + count_b
    share = tl.where(count > 0, count_b / count, 0.0)
    difference = mean_b - mean_a
    squares = squares_a + squares_b + difference * difference * count_a * share
    return mean_a + difference * share, squares, count


@triton.jit
def moments_kernel(
    x_ptr, mean_ptr, squares_ptr, count_ptr, rows, columns, M: tl.constexpr, N: tl.constexpr
):
    at_row, at = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    mask = (at_row < rows) & (at < columns)
    x = tl.load(x_ptr + at_row * columns + at, mask=mask, other=7.0)
    zeros = tl.zeros((M, N), dtype=tl.float32)
    mean, squares, count = tl.reduce((x, zeros, mask.to(tl.float32)), 1, _joined)
    out = tl.arange(0, M)
    tl.store(mean_ptr + out, mean, mask=out < rows)
    tl.store(squares_ptr + out, squares, mask=out < rows)
    tl.store(count_ptr + out, count, mask=out < rows)


@pytest.mark.parametrize(
    ("vlen_bits", "rows", "columns", "M", "N"),
    in_turn(
        [128, 256, 512],
        [(1, 1, 1, 64), (1, 500, 1, 512), (3, 333, 4, 1024), (2, 512, 2, 512), (5, 65, 8, 128)],
    ),
)
def test_means_and_squares(run, rows, columns, M, N, vlen_bits):
    random = np.random.default_rng(columns)
    x = (random.standard_normal((rows, columns)) + 3).astype(np.float32)
    wide = x.astype(np.float64)
    run(
        moments_kernel,
        x_ptr=x.ravel(),
        mean_ptr=Expected(wide.mean(1).astype(np.float32), rtol=1e-5),
        squares_ptr=Expected((wide.var(1) * columns).astype(np.float32), rtol=1e-4, atol=1e-5),
        count_ptr=Expected(np.full(rows, columns, np.float32)),
        rows=rows,
        columns=columns,
        M=M,
        N=N,
        vlen_bits=vlen_bits,
    )


@triton.jit
def _weighted(mean_a, weight_a, first_a, mean_b, weight_b, first_b):
    weight = weight_a + weight_b
    return (mean_a * weight_a + mean_b * weight_b) / weight, weight, tl.minimum(first_a, first_b)


@triton.jit
def weighted_kernel(x_ptr, out_ptr, weight_ptr, first_ptr, columns, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at, mask=at < columns, other=0.0)
    # A number in all lanes for as long as nothing is masked; and one that becomes another.
    weight = tl.where(at < columns, 1.0, 1e-20)
    mean, weight, first = tl.reduce((x, weight, at), 0, _weighted)
    tl.store(out_ptr, mean)
    tl.store(weight_ptr, weight)
    tl.store(first_ptr, first)


@pytest.mark.parametrize("columns", in_turn([1, 256, 63, 64, 65, 200], turns=3))
def test_weighted_means(run, columns):
    x = np.random.default_rng(columns).standard_normal(columns).astype(np.float32)
    mean = x.astype(np.float64).mean(keepdims=True).astype(np.float32)
    run(
        weighted_kernel,
        x_ptr=x,
        out_ptr=Expected(mean, rtol=1e-5, atol=1e-6),
        weight_ptr=Expected(np.array([columns], np.float32), rtol=1e-5),
        first_ptr=Expected(np.array([0], np.int32)),
        columns=columns,
        N=256,
    )


def _op(name, *operands):
    return (f"arith.{name}", (), *operands)


def _number(number):
    return ("arith.constant", (("value", repr(number)),))


A, B, C = (("argument", number) for number in range(3))
SUM = _op("addf", A, B)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # a + (b - a) c = b + (a - b) (1 - c)
        (
            _op("addf", A, _op("mulf", _op("subf", B, A), C)),
            _op(
                "addf",
                B,
                _op("mulf", _op("subf", A, B), _op("subf", _number(1.0), C)),
            ),
        ),
        (_op("divf", A, _op("divf", B, C)), _op("divf", _op("mulf", A, C), B)),
        (_op("negf", _op("subf", A, B)), _op("subf", B, A)),
        (
            _op("select", ("compare", "olt", _number(0.0), SUM), _op("divf", C, SUM), _number(0.0)),
            _op("divf", C, SUM),
        ),
    ],
)
def test_equal_by_algebra(one, other):
    assert are_equal(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (_op("subf", A, B), _op("subf", B, A)),
        (_op("addf", A, _op("mulf", B, C)), _op("addf", C, _op("mulf", B, A))),
        (_op("divf", A, B), _op("divf", B, A)),
        (_op("divf", A, _op("subf", B, B)), _op("divf", A, _op("subf", B, B))),
        (("math.exp", (), A), ("math.exp", (), B)),
        (_op("divsi", A, B), _op("divsi", B, A)),
        # Below 5, the choice is another one.
        (
            _op("select", ("compare", "olt", _number(5.0), SUM), _op("divf", C, SUM), _number(0.0)),
            _op("divf", C, SUM),
        ),
        # What stands in for a quotient by zero is another element; or the quotient for one by more.
        (
            _op("select", ("compare", "olt", _number(0.0), SUM), _op("divf", C, SUM), A),
            _op("select", ("compare", "olt", _number(0.0), SUM), _op("divf", C, SUM), B),
        ),
        (
            _op("select", ("compare", "olt", _number(0.0), SUM), _number(0.0), _op("divf", C, SUM)),
            _op("divf", C, SUM),
        ),
        (_number(2.0), _number(3.0)),
        (_number(1 << 53), _number((1 << 53) + 1)),
        (_number(float("nan")), _number(float("inf"))),
    ],
)
def test_different_by_algebra(one, other):
    assert not are_equal(one, other)
