"""Products of which a block is computed in part: drawn sizes, blocks, masks and epilogues."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from qemu_kernels import Expected, KernelRunner

CASES = 3
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
):
    """C = A @ B + bias and the sums of its rows; what is not masked is allocated and NaN."""
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
        a = tl.load(a_ptrs, mask=a_mask, other=0) if MASK_A else tl.load(a_ptrs)
        b = tl.load(b_ptrs, mask=b_mask, other=0) if MASK_B else tl.load(b_ptrs)
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
        tl.store(total_ptr + rows * tl.num_programs(1) + tl.program_id(1), tl.sum(seen, 1), rows < M)


def size(random, largest):
    """Of which many are 1, or next to a multiple of what a tile takes."""
    near = [1, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, largest]
    return int(random.choice([*near, int(random.integers(1, largest + 1))]))


def run_case(run: KernelRunner, dtype: str, vlen_bits: int, number: int) -> None:
    """Draw one product and run it."""
    random = np.random.default_rng([sum(map(ord, dtype)), vlen_bits, number])
    element, error = TYPES[dtype]
    m, n, k = (size(random, 90) for _ in range(3))
    block_m, block_n, block_k = (int(2 ** random.integers(*ends)) for ends in ((3, 7), (3, 8), (4, 8)))
    rows = str(random.choice(["wrapped", "masked", "allocated"]))
    mask_a, mask_b, bias, totals = (bool(random.integers(0, 4)) for _ in range(4))
    up = lambda count, block: -(-count // block) * block  # noqa: E731
    # Behind what is masked is nothing; elsewhere there is, and must not get into the result.
    whole_k = up(k, block_k)
    if not (mask_a and mask_b):
        k = whole_k
    a_rows, a_columns = (m if rows != "allocated" and (mask_a or rows == "wrapped") else up(m, block_m)), k
    b_rows, b_columns = k, (n if rows != "allocated" and (mask_b or rows == "wrapped") else up(n, block_n))
    bad = 99 if element == np.int8 else np.nan
    a, b = np.full((a_rows, a_columns), bad, element), np.full((b_rows, b_columns), bad, element)
    draw = random.integers(-9, 10, m * k + k * n) if element == np.int8 else random.standard_normal(m * k + k * n)
    a[:m, :k], b[:k, :n] = draw[: m * k].reshape(m, k), draw[m * k :].reshape(k, n)
    wide, stored = (np.int64, np.int32) if element == np.int8 else (np.float64, np.float32)
    by = random.integers(-9, 10, n).astype(stored)
    c = a[:m, :k].astype(wide) @ b[:k, :n].astype(wide) + (by if bias else 0)
    blocks = -(-n // block_n)
    edges = [c[:, first : first + block_n].sum(axis=1) for first in range(0, n, block_n)]
    sums = np.stack(edges, axis=1).astype(stored)
    nothing = np.full((m, blocks), 5, stored)
    run(
        product_kernel,
        a_ptr=a,
        b_ptr=b,
        bias_ptr=by,
        c_ptr=Expected(c.astype(stored), atol=error * k**0.5 + 1e-6 * (stored == np.float32)),
        total_ptr=Expected(sums if totals else nothing, start=nothing, atol=1e-3 * (error > 0), rtol=1e-4 * (error > 0)),
        **{"M": m, "N": n, "K": k, "stride_a": a_columns, "stride_b": b_columns, "stride_c": n},
        **{"BLOCK_M": block_m, "BLOCK_N": block_n, "BLOCK_K": block_k, "ROWS": rows},
        **{"MASK_A": mask_a, "MASK_B": mask_b, "BIAS": bias, "TOTALS": totals},
        BATCH=bool(number % 4 == 3),
        grid=(-(-m // block_m), blocks),
        vlen_bits=vlen_bits,
    )


@pytest.mark.parametrize("vlen_bits", [128, 256, 512])
@pytest.mark.parametrize("dtype", TYPES)
def test_products(run: KernelRunner, dtype: str, vlen_bits: int) -> None:
    for number in range(CASES):
        run_case(run, dtype, vlen_bits, number)
