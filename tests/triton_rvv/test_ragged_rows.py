"""Products whose rows or steps end where a number, a list or a mask says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected, KernelRunner
from test_ragged_products import TYPES, VLENS


@triton.jit
def known_rows_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    STEPS: tl.constexpr,
    A_BY_COLUMN: tl.constexpr,
):
    """C = A @ B by programs that have all rows each, so that their number is known."""
    rows, steps = tl.arange(0, ROWS)[:, None], tl.arange(0, STEPS)
    columns = (tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS))[None, :]
    total_type: tl.constexpr = tl.int32 if a_ptr.dtype.element_ty.is_int() else tl.float32
    c = tl.zeros((ROWS, COLUMNS), total_type)
    for k in range(0, K, STEPS):
        at = k + steps
        places = rows + at[None, :] * M if A_BY_COLUMN else rows * K + at[None, :]
        a = tl.load(a_ptr + places, mask=(rows < M) & (at < K)[None, :], other=0)
        b_mask = (at < K)[:, None] & (columns < N)
        b = tl.load(b_ptr + at[:, None] * N + columns, mask=b_mask, other=0)
        c = tl.dot(a, b, c, out_dtype=total_type)
    tl.store(c_ptr + rows * N + columns, c, mask=(rows < M) & (columns < N))


@pytest.mark.parametrize(
    ("dtype", "vlen_bits", "rows"),
    in_turn(
        [("fp32", 128), ("fp32", 256), ("fp16", 512), ("i8", 256), ("fp32", 512)],
        (1, 7, 3, 13, 31, 2, 5, 6, 11),
        turns=3,
    ),
)
def test_every_number_of_rows(run: KernelRunner, dtype: str, vlen_bits: int, rows: int) -> None:
    """A known number of rows behind the last whole tile has a tile of its own."""
    random, (element, error) = np.random.default_rng([vlen_bits, rows]), TYPES[dtype]
    block, k = 1 << (rows - 1).bit_length(), int(random.choice([37, 64, 100]))
    n, columns, steps = (int(random.choice(some)) for some in ((64, 97), (32, 64), (16, 64)))
    a, b = (random.integers(-9, 10, shape).astype(element) for shape in ((rows, k), (k, n)))
    by_column = bool(random.integers(0, 2))
    exact = a.astype(np.int64) @ b.astype(np.int64)
    c = exact.astype(np.int32 if dtype == "i8" else np.float32)
    run(
        known_rows_kernel,
        grid=(-(-n // columns),),
        vlen_bits=vlen_bits,
        known=("M", "N", "K"),
        a_ptr=a.T.copy() if by_column else a,
        b_ptr=b,
        c_ptr=Expected(c, atol=error),
        M=rows,
        N=n,
        K=k,
        ROWS=max(2, block) * int(random.choice([1, 2])),
        COLUMNS=columns,
        STEPS=steps,
        A_BY_COLUMN=by_column,
    )


@triton.jit
def gathered_rows_kernel(
    a_ptr,
    b_ptr,
    ids_ptr,
    c_ptr,
    count,
    N,
    K,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """Rows of A that a list names, times B; an id of `count` or more is no row."""
    ids = tl.load(ids_ptr + tl.program_id(0) * ROWS + tl.arange(0, ROWS))
    is_row, columns, steps = ids < count, tl.arange(0, COLUMNS), tl.arange(0, BLOCK_K)
    c = tl.zeros((ROWS, COLUMNS), tl.float32)
    for k in range(0, K, BLOCK_K):
        at = k + steps
        inside = at < K
        a_ptrs = a_ptr + ids[:, None] * K + at[None, :]
        a = tl.load(a_ptrs, mask=is_row[:, None] & inside[None, :], other=0)
        b = tl.load(b_ptr + at[:, None] * COLUMNS + columns[None, :], mask=inside[:, None], other=0)
        c = tl.dot(a, b, c)
    wanted = is_row[:, None] & (columns < N)[None, :]
    tl.store(c_ptr + ids[:, None] * COLUMNS + columns[None, :], c, mask=wanted)


@triton.jit
def rows_of_groups_kernel(
    a_ptr, b_ptr, ids_ptr, c_ptr, count, N, group, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    """Rows of a product of which a list says for each group of them whether they are wanted."""
    rows, columns, at = tl.arange(0, ROWS), tl.arange(0, COLUMNS), tl.arange(0, 16)
    is_row = tl.load(ids_ptr + rows // group) < count
    wanted = is_row[:, None] & (columns < N)[None, :]
    a = tl.load(a_ptr + rows[:, None] * 16 + at[None, :], mask=(rows < count)[:, None], other=0)
    b = tl.load(b_ptr + at[:, None] * COLUMNS + columns[None, :])
    c = tl.dot(a, b)
    tl.store(c_ptr + rows[:, None] * COLUMNS + columns[None, :], c, mask=wanted)


@pytest.mark.parametrize(("vlen_bits", "rows"), in_turn(VLENS, [32, 8]))
def test_groups_of_rows_end_where_the_last_one_does(
    run: KernelRunner, vlen_bits: int, rows: int
) -> None:
    """The last group is cut off by the block's end."""
    random, columns, n = np.random.default_rng(rows), 64, 61
    a = random.integers(-9, 10, (rows, 16)).astype(np.float32)
    b = random.integers(-9, 10, (16, columns)).astype(np.float32)
    groups = -(-rows // 6)
    for wanted in ([], [0], [groups - 1], range(groups)):
        ids = np.full(groups, 1000, np.int32)
        ids[list(wanted)] = 1
        start = np.full((rows, columns), 5, np.float32)
        expected = start.copy()
        are_rows = ids[np.arange(rows) // 6] < 100
        expected[are_rows, :n] = (a @ b)[are_rows, :n]
        run(
            rows_of_groups_kernel,
            vlen_bits=vlen_bits,
            a_ptr=a,
            b_ptr=b,
            ids_ptr=ids,
            c_ptr=Expected(expected, start=start),
            count=100,
            N=n,
            group=6,
            ROWS=rows,
            COLUMNS=columns,
        )


@pytest.mark.parametrize(
    ("vlen_bits", "rows", "columns", "block_k"),
    in_turn(VLENS, [4, 8, 32], [(16, 16), (64, 32), (64, 64)]),
)
def test_rows_by_a_list_end_where_its_last_row_is(
    run: KernelRunner, vlen_bits: int, rows: int, columns: int, block_k: int
) -> None:
    """No row, one, rows with others between that are none, and all."""
    random, count, k = np.random.default_rng(rows), 4 * rows, 44
    ids = np.full((rows + 1, rows), count, np.int32)
    free = iter(random.permutation(count))
    for block, last in enumerate((0, 1, rows // 2 + 1, rows - 1, rows)):
        ids[block, :last] = [next(free) for _ in range(last)]
    ids[2, 0] = count + 5
    a = random.integers(-9, 10, (count, k)).astype(np.float32)
    b = random.integers(-9, 10, (k, columns)).astype(np.float32)
    start = np.full((count, columns), 5, np.float32)
    expected = start.copy()
    named = ids[ids < count]
    expected[named, : columns - 1] = (a @ b)[named, : columns - 1]
    run(
        gathered_rows_kernel,
        grid=(len(ids),),
        vlen_bits=vlen_bits,
        a_ptr=a,
        b_ptr=b,
        ids_ptr=ids,
        c_ptr=Expected(expected, start=start),
        count=count,
        N=columns - 1,
        K=k,
        ROWS=rows,
        COLUMNS=columns,
        BLOCK_K=block_k,
    )


@triton.jit(noinline=True)
def rows_of_product(a_ptr, c_ptr, m):
    rows, columns = tl.arange(0, 32)[:, None], tl.arange(0, 32)[None, :]
    a = tl.load(a_ptr + rows * 32 + columns)
    tl.store(c_ptr + rows * 32 + columns, tl.dot(a, a), rows + tl.zeros_like(columns) < m)


@triton.jit
def two_calls_kernel(a_ptr, c_ptr, few, many):
    rows_of_product(a_ptr, c_ptr, few)
    rows_of_product(a_ptr, c_ptr + 1024, many)


def test_each_call_of_a_function_has_its_own_rows(run: KernelRunner) -> None:
    a = np.random.default_rng(0).integers(-9, 10, (32, 32)).astype(np.float32)
    start = np.full((2, 32, 32), 5, np.float32)
    expected = start.copy()
    for product, rows in zip(expected, (3, 30), strict=True):
        product[:rows] = (a @ a)[:rows]
    run(two_calls_kernel, a_ptr=a, c_ptr=Expected(expected, start=start), few=3, many=30)


@triton.jit
def stored_a_turn_later_kernel(a_ptr, b_ptr, rows_ptr, c_ptr, turns):
    rows, columns = tl.arange(0, 32)[:, None], tl.arange(0, 32)[None, :]
    c = tl.zeros((32, 32), tl.float32)
    for turn in range(turns):
        mask = (rows < tl.load(rows_ptr + turn)) & (columns < 32)
        tl.store(c_ptr + turn * 1024 + rows * 32 + columns, c, mask)
        a = tl.load(a_ptr + rows * 32 + columns, mask=rows + tl.zeros_like(columns) < 32)
        c = tl.dot(a, tl.load(b_ptr + rows * 32 + columns))


def test_the_rows_of_a_turn_are_not_those_of_the_next(run: KernelRunner) -> None:
    a, b = np.random.default_rng(0).integers(-9, 10, (2, 32, 32)).astype(np.float32)
    start = np.full((3, 32, 32), 5, np.float32)
    expected = start.copy()
    expected[0, :3], expected[1], expected[2, :17] = 0, a @ b, (a @ b)[:17]
    rows, out = np.array([3, 32, 17], np.int32), Expected(expected, start=start)
    run(stored_a_turn_later_kernel, a_ptr=a, b_ptr=b, rows_ptr=rows, c_ptr=out, turns=3)


@triton.jit
def wide_mask_kernel(a_ptr, b_ptr, kept_ptr, depths_ptr, c_ptr, BLOCK_K: tl.constexpr):
    rows, columns = tl.arange(0, 32)[:, None], tl.arange(0, 32)[None, :]
    steps, depth = tl.arange(0, BLOCK_K), tl.load(depths_ptr + tl.program_id(0))
    kept = tl.load(kept_ptr + steps, mask=steps < depth, other=0) != 0
    rows += tl.program_id(0) * 32
    inside = (steps < depth)[None, :] & kept[None, :]
    a = tl.load(a_ptr + rows * BLOCK_K + steps[None, :], mask=inside, other=0)
    b = tl.load(b_ptr + steps[:, None] * 32 + columns, mask=(steps < depth)[:, None], other=0)
    tl.store(c_ptr + rows * 32 + columns, tl.dot(a, b))


@pytest.mark.parametrize(
    ("vlen_bits", "depth"),
    in_turn([128, 256, 512], [3, 35, 49]),
)
def test_steps_behind_the_end_are_zero_under_a_wide_mask(
    run: KernelRunner, depth: int, vlen_bits: int
) -> None:
    """The first program leaves NaN where the second one has its copy of A."""
    a, b = np.random.default_rng(0).integers(-9, 10, (2, 64, 64)).astype(np.float32)
    a[:32], b = np.nan, b[:, :32].copy()
    expected = np.full((64, 32), np.nan, np.float32)
    expected[32:] = a[32:, :depth] @ b[:depth]
    values: dict[str, Any] = {"kept_ptr": np.ones(64, np.int64), "BLOCK_K": 64}
    values |= {"depths_ptr": np.array([64, depth], np.int32)}
    values |= {"a_ptr": a, "b_ptr": b, "c_ptr": Expected(expected)}
    run(wide_mask_kernel, grid=(2,), vlen_bits=vlen_bits, **values)


@triton.jit
def wrapping_rows_kernel(a_ptr, c_ptr, first, end):
    rows, columns = tl.arange(0, 32)[:, None], tl.arange(0, 32)[None, :]
    a = tl.load(a_ptr + rows * 32 + columns, mask=rows + tl.zeros_like(columns) < 32)
    mask = ((first + rows).to(tl.int64) < end) & (columns < 32)
    tl.store(c_ptr + rows * 32 + columns, tl.dot(a, a), mask)


def test_rows_are_computed_where_their_numbers_wrap(run: KernelRunner) -> None:
    a = np.random.default_rng(0).integers(-9, 10, (32, 32)).astype(np.float32)
    start = np.full((32, 32), 5, np.float32)
    expected = start.copy()
    expected[10:] = (a @ a)[10:]
    out = Expected(expected, start=start)
    run(wrapping_rows_kernel, a_ptr=a, c_ptr=out, first=(1 << 31) - 10, end=np.int64(100))


@triton.jit
def split_k_kernel(a_ptr, b_ptr, c_ptr, K, BLOCK_K: tl.constexpr):
    rows, columns = tl.arange(0, 64)[:, None], tl.arange(0, 16)[None, :]
    steps = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    a = tl.load(a_ptr + rows * K + steps[None, :], mask=steps[None, :] < K, other=0)
    b = tl.load(b_ptr + steps[:, None] * 16 + columns, mask=steps[:, None] < K, other=0)
    tl.store(c_ptr + tl.program_id(0) * 1024 + rows * 16 + columns, tl.dot(a, b))


def test_a_program_behind_the_end_of_k_reads_nothing(run: KernelRunner) -> None:
    """A ends where its memory does, and is read in place."""
    a, b = np.random.default_rng(0).integers(-9, 10, (2, 64, 64)).astype(np.float32)
    b = b[:, :16].copy()
    out = Expected(np.stack([a @ b, np.zeros((64, 16), np.float32)]))
    run(split_k_kernel, grid=(2,), a_ptr=a, b_ptr=b, c_ptr=out, K=64, BLOCK_K=64)
