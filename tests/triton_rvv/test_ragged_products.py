"""Products of which a block is computed in part: drawn sizes, blocks, masks and epilogues."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected, KernelRunner

CASES = 4
VLENS = (128, 256, 512)
# The error of an element for each root of K; sums have 32 bits.
TYPES = {"fp32": (np.float32, 4e-6), "fp16": (np.float16, 2e-5), "i8": (np.int8, 0.0)}


@triton.jit
def product_kernel(
    a_ptr,
    b_ptr,
    bias_ptr,
    c_ptr,
    total_ptr,
    M,
    N,
    K,
    stride_a,
    stride_b,
    stride_c,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    ROWS: tl.constexpr,
    MASK_A: tl.constexpr,
    MASK_B: tl.constexpr,
    BIAS: tl.constexpr,
    TOTALS: tl.constexpr,
    BATCH: tl.constexpr,
    A: tl.constexpr,
    B: tl.constexpr,
):
    """C = A @ B + bias, and for each block of columns the sums of the rows in it."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    steps = tl.arange(0, BLOCK_K)
    total_type: tl.constexpr = tl.int32 if a_ptr.dtype.element_ty.is_int() else tl.float32
    rows_a = rows % M if ROWS == "wrapped" else rows
    columns_b = columns % N if ROWS == "wrapped" else columns
    c = tl.zeros((BLOCK_M, BLOCK_N), total_type)
    for k in range(0, K, BLOCK_K):
        at = k + steps
        a_mask = (at < K)[None, :] & ((rows < M)[:, None] | (ROWS != "masked"))
        b_mask = (at < K)[:, None] & ((columns < N)[None, :] | (ROWS != "masked"))
        a_ptrs = a_ptr + rows_a[:, None] * stride_a + at[None, :]
        b_ptrs = b_ptr + at[:, None] * stride_b + columns_b[None, :]
        if A == "columns":
            a_ptrs = a_ptr + rows_a[:, None] + at[None, :] * stride_a
        if A == "transposed":
            a_ptrs = a_ptr + rows_a[None, :] + at[:, None] * stride_a
            a_mask = tl.trans(a_mask)
        if B == "columns":
            b_ptrs = b_ptr + at[:, None] + columns_b[None, :] * stride_b
        a = tl.load(a_ptrs, mask=a_mask, other=0) if MASK_A else tl.load(a_ptrs)
        b = tl.load(b_ptrs, mask=b_mask, other=0) if MASK_B else tl.load(b_ptrs)
        if A == "transposed":
            a = tl.trans(a)
        if BATCH:
            a, b = a[None, :, :], b[None, :, :]
            c = tl.reshape(tl.dot(a, b, c[None, :, :], out_dtype=total_type), (BLOCK_M, BLOCK_N))
        else:
            c = tl.dot(a, b, c, out_dtype=total_type)
    if BIAS:
        c += tl.load(bias_ptr + columns, mask=columns < N, other=0)[None, :]
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(c_ptr + rows[:, None] * stride_c + columns[None, :], c, mask=inside)
    if TOTALS:
        seen = tl.where((columns < N)[None, :], c, 0)
        totals = total_ptr + rows * tl.num_programs(1) + tl.program_id(1)
        tl.store(totals, tl.sum(seen, 1), rows < M)


@dataclass(frozen=True)
class Case:
    """A product: sizes, blocks, and how the kernel keeps from what is not there.

    Args:
        sizes, blocks: M, N, K.
        rows: whether rows of A and columns of B beyond the end are "masked", "wrapped" around, or
            "allocated" like any others, and NaN.
        mask_a, mask_b: whether loads are masked; if not all are, K is a multiple of its block.
        bias, totals, batch: as in the kernel.
        a, b: whether "rows" or "columns" of the operand lie in one piece; of A, "transposed" says
            that the kernel loads A's transpose.
    """

    sizes: tuple[int, int, int]
    blocks: tuple[int, int, int]
    rows: str
    mask_a: bool = True
    mask_b: bool = True
    bias: bool = False
    totals: bool = False
    batch: bool = False
    a: str = "rows"
    b: str = "rows"

    @classmethod
    def drawn(cls, random: np.random.Generator) -> Case:
        m, n, k = (_size(random, 90) for _ in range(3))
        powers = [random.integers(*ends) for ends in ((3, 7), (3, 8), (4, 8))]
        block_m, block_n, block_k = (int(2**power) for power in powers)
        mask_a, mask_b = (bool(random.integers(0, 4)) for _ in range(2))
        if not (mask_a and mask_b):
            k = _up(k, block_k)
        rows = str(random.choice(["masked", "wrapped", "allocated"]))
        bias, totals, batch = (bool(number) for number in random.integers(0, 2, 3))
        return cls(
            sizes=(m, n, k),
            blocks=(block_m, block_n, block_k),
            rows=rows,
            mask_a=mask_a,
            mask_b=mask_b,
            bias=bias,
            totals=totals,
            batch=batch,
            a=str(random.choice(["rows", "columns", "transposed"])),
            b=str(random.choice(["rows", "rows", "columns"])),
        )

    def allocated(self, size: int, block: int, is_masked: bool) -> int:
        """How many rows of A, or columns of B, the kernel may touch."""
        is_whole = self.rows == "allocated" or (self.rows == "masked" and not is_masked)
        return _up(size, block) if is_whole else size


def _size(random: np.random.Generator, largest: int) -> int:
    """Of which many are 1, or next to a multiple of what a tile takes."""
    near = [1, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, largest]
    return int(random.choice([*near, int(random.integers(1, largest + 1))]))


def _up(size: int, block: int) -> int:
    return -(-size // block) * block


def run_case(
    run: KernelRunner,
    dtype: str,
    vlen_bits: int,
    number: int,
    chosen: Case | None = None,
    known: Sequence[str] = (),
    beyond: int = 0,
) -> None:
    """Run a product, drawn unless it is chosen; the compiler may count on what is `known`.

    So many programs are behind the last column.
    """
    random = np.random.default_rng([sum(map(ord, dtype)), vlen_bits, number])
    element, error = TYPES[dtype]
    case = chosen or Case.drawn(random)
    (m, n, k), (block_m, block_n, block_k) = case.sizes, case.blocks
    exact, stored = (np.int64, np.int32) if dtype == "i8" else (np.float64, np.float32)

    def numbers(*shape: int) -> np.ndarray:
        whole = random.integers(-9, 10, shape)
        return whole.astype(element) if dtype == "i8" else random.standard_normal(shape)

    bad = 99 if dtype == "i8" else np.nan
    a = np.full((case.allocated(m, block_m, case.mask_a), k), bad, element)
    b = np.full((k, case.allocated(n, block_n, case.mask_b)), bad, element)
    a[:m], b[:, :n], bias = numbers(m, k), numbers(k, n), random.integers(-9, 10, n).astype(stored)
    c = a[:m].astype(exact) @ b[:, :n].astype(exact) + (bias if case.bias else 0)
    edges = range(0, n, block_n)
    totals = np.stack([c[:, edge : edge + block_n].sum(axis=1) for edge in edges], axis=1)
    before = np.full(totals.shape, 5, stored)
    totals = totals.astype(stored) if case.totals else before
    values: dict[str, Any] = {"M": m, "N": n, "K": k, "BLOCK_M": block_m, "BLOCK_N": block_n}
    a, b = (x if lies == "rows" else x.T.copy() for x, lies in ((a, case.a), (b, case.b)))
    values |= {"stride_a": a.shape[1], "stride_b": b.shape[1], "stride_c": n, "BLOCK_K": block_k}
    values |= {"A": case.a, "B": case.b}
    values |= {"ROWS": case.rows, "MASK_A": case.mask_a, "MASK_B": case.mask_b}
    values |= {"BIAS": case.bias, "TOTALS": case.totals, "BATCH": case.batch}
    run(
        product_kernel,
        a_ptr=a,
        b_ptr=b,
        bias_ptr=bias,
        c_ptr=Expected(c.astype(stored), atol=error * k**0.5, rtol=error),
        total_ptr=Expected(totals, start=before, atol=100 * error, rtol=20 * error),
        **values,
        grid=(-(-m // block_m), len(edges) + beyond),
        vlen_bits=vlen_bits,
        known=known,
    )


@pytest.mark.parametrize(
    ("dtype", "vlen_bits", "number"), in_turn([*TYPES], VLENS, range(CASES), turns=3)
)
def test_products(run: KernelRunner, dtype: str, vlen_bits: int, number: int) -> None:
    run_case(run, dtype, vlen_bits, number)


# How the kernel keeps from rows that are not there; rows and steps.
IN_PLACE = [
    ("masked", 19, 84),
    ("wrapped", 9, 4),
    ("masked", 1, 36),
    ("masked", 1, 4),
    ("masked", 2, 44),
]


@pytest.mark.parametrize(
    ("dtype", "vlen_bits", "rows", "m", "k"), in_turn([*TYPES], VLENS, IN_PLACE, turns=3)
)
def test_rows_that_are_read_in_place_end_anywhere(
    run: KernelRunner, dtype: str, vlen_bits: int, rows: str, m: int, k: int
) -> None:
    """B has few panels, and K is a multiple of 4, so that A is not copied; it ends behind K."""
    case = Case(sizes=(m, 13, k), blocks=(16, 16, 64), rows=rows)
    run_case(run, dtype, vlen_bits, IN_PLACE.index((rows, m, k)), case)


@pytest.mark.parametrize("rows", [1, *(pytest.param(n, marks=pytest.mark.long) for n in (4, 8))])
def test_programs_behind_the_last_column_read_nothing(run: KernelRunner, rows: int) -> None:
    """B ends where its memory does, and is read in place."""
    case = Case(sizes=(rows, 64, 64), blocks=(rows, 64, 64), rows="masked")
    run_case(run, "fp32", 256, 0, case, beyond=2)


# Rows, columns and steps, blocks, how the kernel keeps from what is not there, and how A lies.
FEW_ROWS = [
    ((6, 128, 100), (8, 64, 64), "masked", "rows"),
    ((8, 60, 96), (8, 32, 32), "wrapped", "columns"),
    ((3, 128, 70), (4, 64, 128), "wrapped", "rows"),
    ((4, 300, 64), (4, 128, 16), "allocated", "transposed"),
    ((2, 64, 36), (2, 64, 64), "masked", "columns"),
    ((1, 256, 52), (1, 256, 64), "masked", "rows"),
]
FEW_TILES = [
    ((16, 128, 64), (16, 128, 64), "allocated", "rows"),
    ((13, 96, 64), (16, 32, 32), "masked", "columns"),
    ((30, 128, 64), (32, 64, 64), "masked", "rows"),
    ((64, 64, 48), (64, 64, 16), "allocated", "transposed"),
    ((50, 65, 96), (64, 32, 64), "wrapped", "rows"),
    ((9, 1024, 40), (16, 64, 16), "masked", "rows"),
]
ROWS_LEFT_OVER = [
    ((17, 129, 70), (32, 128, 128), "masked", "transposed"),
    ((35, 65, 40), (32, 64, 64), "wrapped", "rows"),
    ((12, 40, 33), (16, 32, 32), "masked", "columns"),
    ((3, 100, 64), (16, 64, 64), "wrapped", "rows"),
    ((29, 33, 48), (32, 64, 16), "masked", "rows"),
]


# Of the three in turns: the first six are short.
FEW = [
    case
    for turn in itertools.zip_longest(FEW_ROWS, FEW_TILES, ROWS_LEFT_OVER)
    for case in turn
    if case is not None
]


@pytest.mark.parametrize(
    ("dtype", "vlen_bits", "number"),
    in_turn([("fp32", 128), ("fp32", 256), ("fp16", 256), ("i8", 512)], range(len(FEW)), turns=4),
)
def test_few_rows_and_rows_left_over(
    run: KernelRunner, dtype: str, vlen_bits: int, number: int
) -> None:
    """B is read where it lies if few tiles take all rows; tiles of fewer rows may end a block."""
    sizes, blocks, rows, a = FEW[number]
    case = Case(
        sizes=sizes,
        blocks=blocks,
        rows=rows,
        mask_a=rows != "allocated",
        mask_b=rows != "allocated",
        bias=number % 2 == 0,
        a=a,
    )
    strides = ("stride_a", "stride_b", "stride_c")
    known = ("M", "N", "K", *strides) if number % 3 else ()
    run_case(run, dtype, vlen_bits, number, case, known)
