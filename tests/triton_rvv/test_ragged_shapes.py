"""Products, row-wise kernels and element-wise ones at drawn shapes, blocks and strides."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected

from kernels.registry import load_kernel

CASES = 4
VLENS = (128, 256, 512)
# Operand type, accumulator's type, and the error of an element for each root of K.
PRODUCTS = {"fp32": (np.float32, 4e-6), "fp16": (np.float16, 2e-3), "i8": (np.int8, 0.0)}


def drawn(*what):
    """The random numbers of one test: always the same."""
    return np.random.default_rng([sum(map(ord, str(part))) for part in what])


def sizes(random, count, largest):
    """Sizes of which many are 1, a power of two, or next to one."""
    near = [1, 2, 7, 8, 9, 16, 17, 31, 33, 63, 64, 65]
    chosen = [*near, *random.integers(1, largest + 1, 6)]
    return [int(random.choice([size for size in chosen if size <= largest])) for _ in range(count)]


def powers(random, *largest):
    return [int(2 ** random.integers(0, limit.bit_length())) for limit in largest]


@pytest.mark.parametrize(
    ("dtype", "vlen_bits", "case"), in_turn(["i8", "fp32", "fp16"], [512, 128, 256], range(CASES))
)
def test_products(run, dtype, vlen_bits, case):
    random, (element, error) = drawn("product", dtype, vlen_bits, case), PRODUCTS[dtype]
    kernel = load_kernel("matmul").kernel
    m, n, k = sizes(random, 3, 80)
    block = powers(random, 32, 128, 64)
    if case % 2:  # one or two rows, and columns for several runs: B is read where it lies
        m, n, block = int(random.integers(1, 4)), 2 * n + 60, [case // 2 % 2 + 1, 128, 16]
    a, b = (random.integers(-9, 10, shape).astype(element) for shape in ((m, k), (k, n)))
    if element != np.int8:
        a, b = (random.standard_normal(x.shape).astype(element) for x in (a, b))
    pad = int(random.integers(0, 3))
    padded = np.full((k, n + pad), 99 if element == np.int8 else np.nan, element)
    padded[:, :n] = b
    wide = np.int64 if element == np.int8 else np.float64
    stored = np.int32 if element == np.int8 else element
    c = Expected((a.astype(wide) @ b.astype(wide)).astype(stored), atol=error * k**0.5)
    strides = {"stride_am": k, "stride_ak": 1, "stride_bk": n + pad, "stride_bn": 1}
    strides |= {"stride_cm": n, "stride_cn": 1}
    blocks = {f"BLOCK_SIZE_{name}": size for name, size in zip("MNK", block, strict=True)}
    grid = (-(-m // block[0]) * -(-n // block[1]),)
    known = ("stride_ak", "stride_bn", "stride_cn", *(["M", "N", "K"] if case > 2 else []))
    values = {"a_ptr": a, "b_ptr": padded, "c_ptr": c, "M": m, "N": n, "K": k, **strides}
    run(
        kernel,
        **values,
        **blocks,
        GROUP_SIZE_M=2,
        grid=grid,
        vlen_bits=vlen_bits,
        known=[name for name in known if values[name]],
    )


@triton.jit
def rows_kernel(
    x_ptr,
    scale_ptr,
    out_ptr,
    total_ptr,
    m,
    n,
    stride,
    wanted,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    inside = (rows[:, None] < m) & (columns[None, :] < n) & (wanted > 0)
    x = tl.load(x_ptr + rows[:, None] * stride + columns[None, :], mask=inside, other=-1.0)
    scale = tl.load(scale_ptr + columns, mask=(columns < n) & (wanted > 0), other=2.0)
    scaled = (x - tl.max(x, axis=1)[:, None]) * scale[None, :]
    tl.store(total_ptr + rows, tl.sum(tl.exp(scaled), axis=1), mask=rows < m)
    tl.store(out_ptr + rows[:, None] * n + columns[None, :], scaled, mask=inside)


@pytest.mark.parametrize("vlen_bits", in_turn(VLENS, turns=1))
def test_rows(run, vlen_bits):
    """Blocks of one row and of several, and a condition that is the same for all elements."""
    random = drawn("rows", vlen_bits)
    for case in range(CASES):
        m, n = sizes(random, 2, 70)
        rows = 1 if case % 2 else powers(random, 8)[0]
        block, wanted, pad = triton.next_power_of_2(n), int(case != 2), int(random.integers(0, 3))
        if case > 1:  # nothing is masked but by the condition
            m, n = rows * m, block
        x = np.full((m, n + pad), np.nan, np.float32)
        x[:, :n] = random.standard_normal((m, n))
        scale = random.standard_normal(n).astype(np.float32)
        seen, by = np.full((m, block), -1.0), np.full(block, 2.0)
        if wanted:
            seen[:, :n], by[:n] = x[:, :n], scale
        scaled = (seen - seen.max(axis=1, keepdims=True)) * by
        start = random.standard_normal((m, n)).astype(np.float32)
        out = scaled[:, :n].astype(np.float32) if wanted else start
        run(
            rows_kernel,
            x_ptr=x,
            scale_ptr=scale,
            out_ptr=Expected(out, start=start, atol=1e-5, rtol=1e-5),
            total_ptr=Expected(np.exp(scaled).sum(axis=1).astype(np.float32), rtol=1e-4),
            **{"m": m, "n": n, "stride": n + pad, "wanted": wanted},
            BLOCK_M=rows,
            BLOCK_N=block,
            grid=(-(-m // rows),),
            vlen_bits=vlen_bits,
        )
