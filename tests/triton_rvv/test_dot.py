"""`tl.dot` of blocks of every shape, and accumulators that are used elsewhere too."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected

from triton_rvv import RVVTarget, compile_kernel


def matrices(m, n, k):
    """Small whole numbers, so that every order of summing is exact."""
    random = np.random.default_rng(m * n + k)
    return (random.integers(-8, 8, shape).astype(np.float32) for shape in ((m, k), (k, n), (m, n)))


@triton.jit
def load_block(pointer, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    return tl.load(pointer + tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :])


@triton.jit
def store_block(pointer, x, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    tl.store(pointer + rows[:, None] * COLUMNS + columns[None, :], x)


@triton.jit
def dot_kernel(a_ptr, b_ptr, c_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    a, b, c = load_block(a_ptr, M, K), load_block(b_ptr, K, N), load_block(c_ptr, M, N)
    store_block(out_ptr, tl.dot(a, b), M, N)
    store_block(out_ptr + M * N, tl.dot(a, b, c), M, N)


SHAPES = [
    *[(16, 32, k) for k in (1, 2, 4, 8, 16, 32, 64)],
    (1, 1, 1),
    (1, 64, 8),
    (64, 1, 8),
    (2, 128, 4),
    (128, 2, 4),
    (64, 64, 16),
]


@pytest.mark.parametrize(
    ("shape", "vlen_bits"), in_turn([(shape,) for shape in SHAPES], [128, 256, 512], turns=7)
)
def test_blocks(run, shape, vlen_bits):
    m, n, k = shape
    a, b, c = matrices(m, n, k)
    out = Expected(np.stack([a @ b, a @ b + c]))
    sizes = {"M": m, "N": n, "K": k}
    run(dot_kernel, a_ptr=a, b_ptr=b, c_ptr=c, out_ptr=out, **sizes, vlen_bits=vlen_bits)


@triton.jit
def shared_accumulator_kernel(
    a_ptr, b_ptr, out_ptr, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    a, b = load_block(a_ptr, M, K), load_block(b_ptr, K, N)
    first = tl.dot(a, b)
    second = tl.dot(a, b, first)
    store_block(out_ptr, second - first, M, N)
    total = tl.zeros((M, N), tl.float32)
    previous = tl.full((M, N), -1.0, tl.float32)
    for _ in range(n):
        previous = total
        total = tl.dot(a, b, total)
    store_block(out_ptr + M * N, total, M, N)
    store_block(out_ptr + 2 * M * N, previous, M, N)


@pytest.mark.parametrize("shape", [(4, 8, 4), (32, 64, 8)])
def test_accumulators_used_again(run, shape):
    m, n, k = shape
    a, b, _ = matrices(m, n, k)
    for turns in (0, 1, 3):
        previous = (turns - 1) * (a @ b) if turns else np.full((m, n), -1)
        out = Expected(np.stack([a @ b, turns * (a @ b), previous]).astype(np.float32))
        sizes = {"M": m, "N": n, "K": k}
        run(shared_accumulator_kernel, a_ptr=a, b_ptr=b, out_ptr=out, n=turns, **sizes)


@triton.jit
def repeated_start_kernel(
    a_ptr, b_ptr, out_ptr, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    a, b = load_block(a_ptr, M, K), load_block(b_ptr, K, N)
    start = tl.dot(a, b)
    for i in range(n):
        store_block(out_ptr + i * M * N, tl.dot(a + i, b, start), M, N)


@pytest.mark.parametrize("shape", [(4, 8, 4), (32, 64, 8)])
def test_accumulator_from_outside_a_loop(run, shape):
    m, n, k = shape
    a, b, _ = matrices(m, n, k)
    out = Expected(np.stack([a @ b + (a + i) @ b for i in range(3)]))
    sizes = {"M": m, "N": n, "K": k}
    run(repeated_start_kernel, a_ptr=a, b_ptr=b, out_ptr=out, n=3, **sizes)


@triton.jit
def carried_start_kernel(
    a_ptr, b_ptr, out_ptr, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    a, b = load_block(a_ptr, M, K), load_block(b_ptr, K, N)
    total = tl.zeros((M, N), tl.float32)
    for _ in range(n):
        new = tl.zeros((M, N), tl.float32)
        for i in range(2):
            new += tl.dot(a + i, b, total)
        total = new
    store_block(out_ptr, total, M, N)


@pytest.mark.parametrize("shape", [(4, 8, 4), (32, 64, 8)])
def test_accumulator_used_by_an_inner_loop(run, shape):
    m, n, k = shape
    a, b, _ = matrices(m, n, k)
    total = np.zeros((m, n), np.float32)
    for _ in range(3):
        total = (a @ b + total) + ((a + 1) @ b + total)
    sizes = {"M": m, "N": n, "K": k}
    run(carried_start_kernel, a_ptr=a, b_ptr=b, out_ptr=Expected(total), n=3, **sizes)


@triton.jit
def rescaled_kernel(a_ptr, b_ptr, out_ptr, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    a, b = load_block(a_ptr, M, K), load_block(b_ptr, K, N)
    total = tl.zeros((M, N), tl.float32)
    for i in range(n):
        total = tl.dot(a, b, 1 - total * i)
    store_block(out_ptr, total, M, N)


@triton.jit
def read_twice_kernel(a_ptr, b_ptr, out_ptr, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    a, b = load_block(a_ptr, M, K), load_block(b_ptr, K, N)
    total = tl.zeros((M, N), tl.float32)
    scaled_sum = tl.zeros((M, N), tl.float32)
    last = total
    for i in range(n):
        last = total
        scaled = 1 - total * i
        total = tl.dot(a, b, scaled)
        scaled_sum += scaled
    store_block(out_ptr, total, M, N)
    store_block(out_ptr + M * N, scaled_sum, M, N)
    store_block(out_ptr + 2 * M * N, last, M, N)


@pytest.mark.parametrize(
    ("vlen_bits", "shape"), in_turn([128, 256, 512], [((4, 8, 4),), ((32, 64, 8),)])
)
def test_rescaled_accumulators(run, shape, vlen_bits):
    m, n, k = shape
    a, b, _ = matrices(m, n, k)
    total, scaled_sum, last = (np.zeros((m, n), np.float32) for _ in range(3))
    for i in range(3):
        last, scaled = total, 1 - total * i
        total = a @ b + scaled
        scaled_sum = scaled_sum + scaled
    sizes = {"M": m, "N": n, "K": k, "n": 3, "vlen_bits": vlen_bits}
    run(rescaled_kernel, a_ptr=a, b_ptr=b, out_ptr=Expected(total), **sizes)
    out = Expected(np.stack([total, scaled_sum, last]))
    run(read_twice_kernel, a_ptr=a, b_ptr=b, out_ptr=out, **sizes)


def test_a_rescaled_accumulator_stays_in_its_array():
    signature = {"a_ptr": "*fp32", "b_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32"}
    sizes = {"M": 32, "N": 64, "K": 8}
    compiled = compile_kernel(rescaled_kernel, signature, sizes, RVVTarget())
    assert compiled.llir.count("alloca [2048 x float]") == 1


@triton.jit
def outer_operand_kernel(
    a_ptr, b_ptr, out_ptr, n, flag, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    a, b = load_block(a_ptr, M, K) + 1, load_block(b_ptr, K, N)
    total = tl.zeros((M, N), tl.float32)
    for _ in range(n):
        total = tl.dot(a, b, total)
    if flag > 0:
        total += tl.dot(a, b * 2)
    store_block(out_ptr, total, M, N)
    store_block(out_ptr + M * N, a, M, K)


@pytest.mark.parametrize(
    ("shape", "turns", "flag"),
    in_turn([((4, 8, 4),), ((32, 64, 8),)], [(0, 0), (0, 1), (2, 0), (2, 1)]),
)
def test_operands_used_after_a_loop_or_branch_that_may_not_run(run, shape, turns, flag):
    m, n, k = shape
    a, b, _ = matrices(m, n, k)
    product = (a + 1) @ b
    expected = np.concatenate([((turns + 2 * flag) * product).reshape(-1), (a + 1).reshape(-1)])
    sizes = {"M": m, "N": n, "K": k}
    out = Expected(expected.astype(np.float32))
    run(outer_operand_kernel, a_ptr=a, b_ptr=b, out_ptr=out, n=turns, flag=flag, **sizes)


@triton.jit
def chain_kernel(a_ptr, b_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    a, b = load_block(a_ptr, M, K), load_block(b_ptr, K, N)
    scores = tl.dot(a, b)
    scaled = scores - tl.max(scores, axis=1)[:, None]
    weights = tl.where(scaled > -40, scaled, 0.0)
    store_block(out_ptr, tl.dot(weights, load_block(b_ptr, N, K)), M, K)


@pytest.mark.parametrize("shape", [(4, 8, 4), (32, 64, 16)])
def test_products_of_products(run, shape):
    m, n, k = shape
    a, b, _ = matrices(m, n, k)
    scores = a @ b
    scaled = scores - scores.max(axis=1, keepdims=True)
    out = Expected(np.where(scaled > -40, scaled, 0) @ b.reshape(n, k))
    run(chain_kernel, a_ptr=a, b_ptr=b, out_ptr=out, M=m, N=n, K=k)


@triton.jit
def in_place_kernel(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    a, b, c = load_block(a_ptr, M, K), load_block(b_ptr, K, N), load_block(c_ptr, M, N)
    store_block(c_ptr, c * 0.5, M, N)
    store_block(a_ptr, a * 0, M, K)
    store_block(c_ptr, tl.dot(a, b, c), M, N)


def test_operands_are_read_before_their_arrays_change(run):
    m, n, k = 16, 32, 8
    a, b, c = matrices(m, n, k)
    sizes = {"M": m, "N": n, "K": k}
    zeros = Expected(np.zeros_like(a), start=a)
    run(in_place_kernel, a_ptr=zeros, b_ptr=b, c_ptr=Expected(a @ b + c, start=c), **sizes)


@triton.jit
def masked_dot_kernel(x_ptr, flag_ptr, y_ptr, loaded_ptr, unequal_ptr, skip, N: tl.constexpr):
    rows, columns = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    places = rows * N + columns
    y = tl.load(y_ptr + places)
    wanted = (tl.load(flag_ptr + columns) != 0) & (rows < N)
    x = tl.load(x_ptr + places, mask=wanted, other=0.0)
    tl.store(loaded_ptr + places, tl.dot(x, y))
    x = tl.load(x_ptr + places, mask=columns != skip, other=0.0)
    tl.store(unequal_ptr + places, tl.dot(x, y))


def test_a_mask_that_no_single_comparison_speaks_for(run):
    random = np.random.default_rng(0)
    x, y = (random.integers(-4, 4, (16, 16)).astype(np.float32) for _ in range(2))
    flag = random.integers(0, 2, 16).astype(np.int32)
    without = np.where(np.arange(16) == 3, 0, x).astype(np.float32)
    run(
        masked_dot_kernel,
        x_ptr=x,
        flag_ptr=flag,
        y_ptr=y,
        loaded_ptr=Expected((x * flag) @ y),
        unequal_ptr=Expected(without @ y),
        skip=3,
        N=16,
    )


@triton.jit
def typed_dot_kernel(
    a_ptr, b_ptr, c_ptr, out_ptr, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    total = load_block(c_ptr, M, N)
    for i in range(n):
        a, b = load_block(a_ptr + i * M * K, M, K), load_block(b_ptr + i * K * N, K, N)
        total = tl.dot(a, b, total, out_dtype=total.dtype)
    store_block(out_ptr, total, M, N)


OPERANDS = [
    (torch.float16, torch.float32),
    (torch.float16, torch.float16),
    (torch.bfloat16, torch.float32),
    (torch.float8_e5m2, torch.float32),
    (torch.float8_e4m3fn, torch.float32),
    (torch.float64, torch.float64),
    (torch.int8, torch.int32),
]


@pytest.mark.parametrize(
    ("operand", "total", "shape"),
    in_turn([*OPERANDS], [((4, 8, 4),), ((16, 64, 32),), ((64, 32, 64),)]),
)
def test_element_types(run, shape, operand, total):
    m, n, k = shape
    random = torch.Generator().manual_seed(m)

    def whole(*sizes, dtype):
        return torch.randint(-4, 5, sizes, generator=random).to(dtype)

    a, b, c = whole(2, m, k, dtype=operand), whole(2, k, n, dtype=operand), whole(m, n, dtype=total)
    if operand is torch.int8:
        a[:, :2] = torch.tensor([[-128], [127]])
        b[:, :, :2] = torch.tensor([-128, 127])
    expected = c.double() + (a.double() @ b.double()).sum(0)
    sizes = {"M": m, "N": n, "K": k}
    out = Expected(expected.to(total))
    run(typed_dot_kernel, a_ptr=a, b_ptr=b, c_ptr=c, out_ptr=out, n=2, **sizes)


@triton.jit
def batched_dot_kernel(
    a_ptr, b_ptr, out_ptr, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    batch = tl.arange(0, B)[:, None, None]
    rows, columns = tl.arange(0, M)[None, :, None], tl.arange(0, N)[None, None, :]
    b = tl.load(b_ptr + (batch * K + tl.arange(0, K)[None, :, None]) * N + columns)
    total = tl.zeros((B, M, N), tl.float32)
    for _ in range(2):
        a = tl.load(a_ptr + (batch * M + rows) * K + tl.arange(0, K)[None, None, :])
        total = tl.dot(a, b, total, input_precision="tf32x3")
    tl.store(out_ptr + (batch * M + rows) * N + columns, total)


@pytest.mark.parametrize(
    ("shape", "dtype"),
    in_turn(
        [((2, 4, 8, 4),), ((4, 16, 64, 8),), ((1, 2, 2, 32),)], [torch.float32, torch.bfloat16]
    ),
    ids=str,
)
def test_batches(run, shape, dtype):
    batch, m, n, k = shape
    random = torch.Generator().manual_seed(batch)
    a = torch.randint(-4, 5, (batch, m, k), generator=random).to(dtype)
    b = torch.randint(-4, 5, (batch, k, n), generator=random).to(dtype)
    sizes = {"B": batch, "M": m, "N": n, "K": k}
    run(
        batched_dot_kernel, a_ptr=a, b_ptr=b, out_ptr=Expected(2 * (a.float() @ b.float())), **sizes
    )
