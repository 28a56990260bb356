"""Reductions along each dimension, with Triton's own and with user-written combinations."""

from __future__ import annotations

import re

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected

from triton_rvv import RVVTarget, compile_kernel


@triton.jit
def reduce_kernel(
    x_ptr, sum_ptr, max_ptr, min_ptr, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr
):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    kept = tl.arange(0, N if AXIS == 0 else M)
    tl.store(sum_ptr + kept, tl.sum(x, axis=AXIS))
    tl.store(max_ptr + kept, tl.max(x, axis=AXIS))
    tl.store(min_ptr + kept, tl.min(x, axis=AXIS))


@pytest.mark.parametrize(
    ("rows", "columns", "axis", "dtype"),
    in_turn(
        [(1, 1), (1, 64), (64, 1), (4, 8), (16, 128)],
        [0, 1],
        [np.int32, np.int64, np.float32, np.float64],
    ),
)
def test_two_dimensions(run, rows, columns, axis, dtype):
    # Small integers: every order of summing floats gives the same result.
    x = np.random.default_rng(1).integers(-1000, 1000, (rows, columns)).astype(dtype)
    outputs = {
        "sum_ptr": Expected(x.sum(axis=axis).astype(dtype)),
        "max_ptr": Expected(x.max(axis=axis)),
        "min_ptr": Expected(x.min(axis=axis)),
    }
    run(reduce_kernel, x_ptr=x, **outputs, AXIS=axis, M=rows, N=columns)


@pytest.mark.parametrize(("vlen_bits", "axis"), in_turn([128, 512], [0, 1]))
def test_other_vector_lengths(run, axis, vlen_bits):
    x = np.random.default_rng(2).integers(-1000, 1000, (8, 64)).astype(np.float32)
    outputs = {
        "sum_ptr": Expected(x.sum(axis=axis)),
        "max_ptr": Expected(x.max(axis=axis)),
        "min_ptr": Expected(x.min(axis=axis)),
    }
    run(reduce_kernel, x_ptr=x, **outputs, AXIS=axis, M=8, N=64, vlen_bits=vlen_bits)


@triton.jit
def reduce_all_kernel(x_ptr, out_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0)
    tl.store(out_ptr, tl.sum(x))
    tl.store(out_ptr + 1, tl.xor_sum(x))
    tl.store(out_ptr + 2, tl.max(x) - tl.min(x))
    tl.store(out_ptr + 3, tl.sum((x > 10).to(tl.int32)))


@pytest.mark.parametrize(
    "n_block", in_turn([((1, 1),), ((1000, 1024),), ((5, 8),), ((100, 128),)], turns=2)
)
def test_a_vector_to_a_scalar(run, n_block):
    n, block = n_block
    x = np.zeros(block, np.int32)
    x[:n] = np.random.default_rng(n).integers(-100, 100, n)
    expected = [x.sum(), np.bitwise_xor.reduce(x), x.max() - x.min(), (x > 10).sum()]
    out = Expected(np.array(expected, np.int32))
    run(reduce_all_kernel, x_ptr=x, out_ptr=out, n=n, N=block)


@triton.jit
def reduce_matrix_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out_ptr, tl.sum(x))
    tl.store(out_ptr + 1, tl.sum(x * 2) - tl.max(x))
    tl.store(out_ptr + 2 + tl.arange(0, M * N), tl.reshape(x, (M * N,)))


def test_a_matrix_to_a_scalar(run):
    x = np.random.default_rng(6).integers(-100, 100, (8, 32)).astype(np.int32)
    expected = np.array([x.sum(), 2 * x.sum() - x.max(), *x.reshape(-1)], np.int32)
    run(reduce_matrix_kernel, x_ptr=x, out_ptr=Expected(expected), M=8, N=32)


@triton.jit
def three_dimensions_kernel(
    x_ptr, out_ptr, AXIS: tl.constexpr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr
):
    a, b, c = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C)
    x = tl.load(x_ptr + a[:, None, None] * (B * C) + b[None, :, None] * C + c[None, None, :])
    if AXIS == 0:
        where = b[:, None] * C + c[None, :]
    elif AXIS == 1:
        where = a[:, None] * C + c[None, :]
    else:
        where = a[:, None] * B + b[None, :]
    tl.store(out_ptr + where, tl.sum(x, axis=AXIS))


@pytest.mark.parametrize("axis", in_turn([0, 2, 1], turns=2))
def test_three_dimensions(run, axis):
    x = np.random.default_rng(3).integers(-50, 50, (4, 8, 32)).astype(np.int32)
    sizes = {"A": 4, "B": 8, "C": 32}
    out = Expected(x.sum(axis=axis).astype(np.int32))
    run(three_dimensions_kernel, x_ptr=x, out_ptr=out, AXIS=axis, **sizes)


@triton.jit
def _sum_and_extreme(sum_a, low_a, sum_b, low_b):
    return sum_a + sum_b, tl.minimum(low_a, low_b)


@triton.jit
def two_operands_kernel(
    a_ptr, b_ptr, out_ptr, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr
):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    a, b = tl.reduce((tl.load(a_ptr + offsets), tl.load(b_ptr + offsets)), AXIS, _sum_and_extreme)
    kept = tl.arange(0, N if AXIS == 0 else M)
    size = N if AXIS == 0 else M
    tl.store(out_ptr + kept, a)
    tl.store(out_ptr + size + kept, b)


@pytest.mark.parametrize("axis", [0, 1])
def test_several_operands(run, axis):
    random = np.random.default_rng(4)
    a, b = (random.integers(-99, 99, (8, 64)).astype(np.int32) for _ in range(2))
    out = Expected(np.stack([a.sum(axis=axis), b.min(axis=axis)]).astype(np.int32))
    run(two_operands_kernel, a_ptr=a, b_ptr=b, out_ptr=out, AXIS=axis, M=8, N=64)


@triton.jit
def _product(a, b):
    return a * b


@triton.jit
def product_kernel(x_ptr, out_ptr, N: tl.constexpr):
    tl.store(out_ptr, tl.reduce(tl.load(x_ptr + tl.arange(0, N)), 0, _product))


@pytest.mark.parametrize("size", in_turn([2, 256, 16], turns=2))
def test_user_written_combination(run, size):
    x = np.ones(size, np.int64)
    x[::3] = -3 if size < 64 else -1
    x[-1] = 7
    run(product_kernel, x_ptr=x, out_ptr=Expected(x.prod(keepdims=True)), N=size)


@triton.jit
def nested_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + rows[:, None] * N + columns[None, :])
    centred = x - (tl.sum(x, axis=1) / N)[:, None]
    variance = tl.sum(centred * centred, axis=1) / N
    normal = centred / tl.sqrt(variance + 1e-5)[:, None]
    scaled = normal * tl.max(normal, axis=0)[None, :]
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], scaled)


@pytest.mark.parametrize("shape", [(2, 4), (8, 256)])
def test_reductions_of_reductions(run, shape):
    x = np.random.default_rng(5).standard_normal(shape)
    centred = x - x.mean(axis=1, keepdims=True)
    normal = centred / np.sqrt(centred.var(axis=1, keepdims=True) + 1e-5)
    out = Expected((normal * normal.max(axis=0)).astype(np.float32), atol=1e-5, rtol=1e-5)
    run(nested_kernel, x_ptr=x.astype(np.float32), out_ptr=out, M=shape[0], N=shape[1])


@triton.jit
def reshaped_sums_kernel(x_ptr, y_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 8 * N)).to(tl.float32)
    total = tl.sum(tl.reshape(x, (8, N)), axis=0)
    squares = tl.sum(tl.reshape(x * x, (8, N)), axis=0)
    tl.store(y_ptr + tl.arange(0, N), total * squares)


def test_what_reshaped_blocks_share_is_written_once():
    types = {"x_ptr": "*i8", "y_ptr": "*fp32"}
    compiled = compile_kernel(reshaped_sums_kernel, types, {"N": 32}, RVVTarget())
    # The first run, and the loop over all others.
    assert len(re.findall(r"= load <\d+ x i8>", compiled.lowered)) == 2
