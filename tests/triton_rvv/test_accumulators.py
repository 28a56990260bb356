"""Blocks that a loop adds to and that are reduced afterwards, alone and beside others."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected

from triton_rvv.frontend.ttir import Operation, parse_module
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.ttir.accumulators import narrow_accumulators
from triton_rvv.lowering.ttir.joint_reductions import join_reductions
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.make_ttir import make_ttir
from triton_rvv.targets.target import RVVTarget

M, N = 4, 1000
BLOCK = 256


@triton.jit
def along_rows_kernel(x_ptr, sum_ptr, largest_ptr, count_ptr, N, M: tl.constexpr, B: tl.constexpr):
    rows = tl.arange(0, M)
    total = tl.zeros((M, B), dtype=tl.float32)
    largest = tl.full((M, B), -5.0, dtype=tl.float32)
    count = tl.full((M, B), 1, dtype=tl.int32)
    for start in range(0, N, B):
        columns = start + tl.arange(0, B)
        mask = (rows[:, None] < M) & (columns[None, :] < N)
        x = tl.load(x_ptr + rows[:, None] * N + columns[None, :], mask=mask, other=0.0)
        total += x
        largest = tl.maximum(largest, x)
        count += (x > 0).to(tl.int32)
    tl.store(sum_ptr + rows, tl.sum(total, axis=1))
    tl.store(largest_ptr + rows, tl.max(largest, axis=1))
    tl.store(count_ptr + rows, tl.sum(count, axis=1))


@pytest.mark.parametrize("least", [-9.0, -1.0])
def test_sums_and_extremes_along_rows(run, least):
    # With -9 as an offset all elements are below the start of the largest ones.
    x = np.random.default_rng(0).random((M, N), np.float32) + np.float32(least)
    beyond = N % BLOCK > 0  # masked elements are 0
    run(
        along_rows_kernel,
        x_ptr=x,
        sum_ptr=Expected(x.astype(np.float64).sum(axis=1).astype(np.float32), rtol=1e-5),
        largest_ptr=Expected(np.maximum(np.maximum(x.max(axis=1), 0 if beyond else -5), -5)),
        # The ones from the start, which are added in the end, are no neutral element.
        count_ptr=Expected((np.sum(x > 0, axis=1) + BLOCK).astype(np.int32)),
        N=N,
        M=M,
        B=BLOCK,
    )


@triton.jit
def down_columns_kernel(x_ptr, sum_ptr, M, N: tl.constexpr, B: tl.constexpr):
    columns = tl.arange(0, N)
    total = tl.zeros((B, N), dtype=tl.int32)
    for start in range(0, M, B):
        rows = start + tl.arange(0, B)
        at = rows[:, None] * N + columns[None, :]
        total += tl.load(x_ptr + at, mask=rows[:, None] < M, other=0)
    tl.store(sum_ptr + columns, tl.sum(total, axis=0))


def test_sums_down_columns(run):
    x = np.random.default_rng(1).integers(-(2**31), 2**31, (19, 32)).astype(np.int32)
    run(
        down_columns_kernel,
        x_ptr=x,
        sum_ptr=Expected(x.sum(axis=0, dtype=np.int32)),
        M=19,
        N=32,
        B=8,
    )


@triton.jit
def together_kernel(
    x_ptr, y_ptr, scaled_ptr, down_ptr, swapped_ptr, M, N: tl.constexpr, B: tl.constexpr
):
    """Two sums along each row, a store, and carried blocks that change in place, or in exchange."""
    columns = tl.arange(0, N)
    down = tl.zeros((N,), dtype=tl.float32)
    squares = tl.zeros((N,), dtype=tl.float32)
    one, other = columns, columns * 3
    for start in range(0, M, B):
        rows = start + tl.arange(0, B)
        mask = rows[:, None] < M
        at = rows[:, None] * N + columns[None, :]
        x = tl.load(x_ptr + at, mask=mask, other=0.0)
        y = tl.load(y_ptr + at, mask=mask, other=0.0)
        total = tl.sum(x, axis=1)
        product = tl.sum(x * y, axis=1)
        tl.store(scaled_ptr + at, x * total[:, None] + product[:, None], mask=mask)
        down += tl.sum(y, axis=0)
        squares += tl.sum(y * y, axis=0)
        one, other = other, one + 1
    tl.store(down_ptr + columns, down)
    tl.store(down_ptr + N + columns, squares)
    tl.store(swapped_ptr + columns, one)
    tl.store(swapped_ptr + N + columns, other)


@pytest.mark.parametrize("rows", [1, 2])
def test_sums_of_rows_beside_a_store_and_carried_blocks(run, rows):
    random = np.random.default_rng(2)
    m, n = 7, 256
    x, y = (random.integers(-4, 5, (m, n)).astype(np.float32) for _ in range(2))
    total, product = x.sum(axis=1), (x * y).sum(axis=1)
    one, other = np.arange(n, dtype=np.int32), 3 * np.arange(n, dtype=np.int32)
    for _ in range(-(-m // rows)):
        one, other = other, one + 1
    run(
        together_kernel,
        x_ptr=x,
        y_ptr=y,
        scaled_ptr=Expected(x * total[:, None] + product[:, None]),
        down_ptr=Expected(np.concatenate([y.sum(axis=0), (y * y).sum(axis=0)])),
        swapped_ptr=Expected(np.concatenate([one, other])),
        M=m,
        N=n,
        B=rows,
    )


@triton.jit
def turned_kernel(x_ptr, out_ptr, turns, N: tl.constexpr):
    places = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    block = tl.load(x_ptr + places)
    for _ in range(turns):
        block = block.trans() * 2 + block
    tl.store(out_ptr + places, block)


def test_a_block_that_changes_elsewhere_does_not_change_in_place(run):
    x = np.random.default_rng(3).integers(-9, 10, (32, 32)).astype(np.int32)
    block = x
    for _ in range(3):
        block = block.T * 2 + block
    run(turned_kernel, x_ptr=x, out_ptr=Expected(block), turns=3, N=32)


def _kernel(kernel, signature: dict[str, str], constants: dict[str, int]) -> Kernel:
    types = {name: signature.get(name, "constexpr") for name in kernel.arg_names}
    target = RVVTarget(vlen_bits=256)
    ttir = make_ttir(kernel, types, constants, frozenset(), target)
    return Kernel(parse_module(ttir), target, arguments_are_disjoint=True)


def _carried_sizes(module: Operation) -> list[int]:
    (loop,) = (operation for operation in module.walk() if operation.name == "scf.for")
    types = [result.type for result in loop.results]
    return [type_.elements for type_ in types if isinstance(type_, TensorType)]


def test_blocks_that_start_neutral_become_smaller():
    signature = {"x_ptr": "*fp32", "sum_ptr": "*fp32", "largest_ptr": "*fp32"}
    signature |= {"count_ptr": "*i32", "N": "i32"}
    kernel = _kernel(along_rows_kernel, signature, {"M": M, "B": BLOCK})
    assert narrow_accumulators(kernel) == 2
    assert _carried_sizes(kernel.module) == [M * 64, M * 64, M * BLOCK]


@triton.jit
def two_sums_kernel(
    x_ptr, y_ptr, sum_ptr, N, SUMS: tl.constexpr, B: tl.constexpr, LOADS: tl.constexpr
):
    total = tl.zeros((B,), dtype=tl.float32)
    squares = tl.zeros((B,), dtype=tl.float32)
    for start in range(0, N, B):
        at = start + tl.arange(0, B)
        x = tl.load(x_ptr + at, mask=at < N, other=0.0)
        if LOADS == 2:
            x -= tl.load(y_ptr + at, mask=at < N, other=0.0)
        tl.store(y_ptr + at, x, mask=at < N)
        total += x
        if SUMS == 2:
            squares += x * x
    tl.store(sum_ptr, tl.sum(total, axis=0))
    if SUMS == 2:
        tl.store(sum_ptr + 1, tl.sum(squares, axis=0))


@pytest.mark.parametrize(
    ("sums", "block", "loads", "left"),
    [
        (2, 128, 2, 32),  # two chains for each of two sums
        (2, 64, 2, 32),
        (2, 128, 1, 64),  # one load leaves registers to four
        (2, 32, 2, 32),
        (1, 128, 1, 64),  # all chains for a single sum
    ],
)
def test_sums_of_several_blocks_leave_registers_to_loads(sums, block, loads, left):
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "sum_ptr": "*fp32", "N": "i32"}
    constants = {"SUMS": sums, "B": block, "LOADS": loads}
    kernel = _kernel(two_sums_kernel, signature, constants)
    assert narrow_accumulators(kernel) == (sums if left < block else 0)
    assert _carried_sizes(kernel.module) == sums * [left]


def test_reductions_of_one_load_become_one():
    signature = dict.fromkeys(("x_ptr", "y_ptr", "scaled_ptr", "down_ptr"), "*fp32")
    signature |= {"swapped_ptr": "*i32", "M": "i32"}
    kernel = _kernel(together_kernel, signature, {"N": 256, "B": 2})
    assert join_reductions(kernel) == 2
    reductions = [operation for operation in kernel.module.walk() if operation.name == "tt.reduce"]
    assert [len(operation.results) for operation in reductions] == [2, 2]


@triton.jit
def ragged_kernel(x_ptr, total_ptr, largest_ptr, start, end, N: tl.constexpr):
    total = tl.zeros((N,), dtype=tl.int32)
    largest = tl.full((N,), -1000, dtype=tl.int32)
    for first in range(start, end, N):
        at = first + tl.arange(0, N)
        x = tl.load(x_ptr + at, mask=(at >= 0) & (at < end), other=7)
        total += x
        largest = tl.maximum(largest, tl.where(at < end - 1, x, -5))
    tl.store(total_ptr, tl.sum(total, 0))
    tl.store(largest_ptr, tl.max(largest, 0))


@pytest.mark.parametrize(("start", "end"), in_turn([(0, 1000), (-37, 400), (0, 530)], turns=2))
def test_blocks_that_end_behind_a_row(run, start, end):
    x = np.random.default_rng(1).integers(-999, 0, end).astype(np.int32)
    at = start + np.arange(-(-(end - start) // 512) * 512)
    inside = (at >= 0) & (at < end)
    values = np.where(inside, x[np.where(inside, at, 0)], 7)
    run(
        ragged_kernel,
        x_ptr=x,
        total_ptr=Expected(np.array([values.sum()], np.int32)),
        largest_ptr=Expected(np.array([np.where(at < end - 1, values, -5).max()], np.int32)),
        start=start, end=end, N=512,
    )  # fmt: skip
