"""Block pointers and tensor descriptors, with checks at the borders of a matrix."""

from __future__ import annotations

import re

import numpy as np
import pytest
import triton
import triton.language as tl
from qemu_kernels import Expected

from triton_rvv import RVVTarget, compile_kernel

pytestmark = pytest.mark.filterwarnings("ignore:tl.make_block_ptr is deprecated")
needs_block_pointers = pytest.mark.skipif(
    tuple(map(int, triton.__version__.split(".")[:2])) >= (3, 9),
    reason="Triton 3.9 has no block pointers",
)


@triton.jit
def block_pointer_kernel(x_ptr, out_ptr, M, N, stride, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_block_ptr(x_ptr, (M, N), (stride, 1), (0, 0), (BM, BN), (1, 0))
    target = tl.make_block_ptr(out_ptr, (M, N), (N, 1), (0, 0), (BM, BN), (1, 0))
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, N, BN):
        x = tl.load(source, boundary_check=(0, 1), padding_option="zero")
        total += x
        tl.store(target, x * 2 + tl.sum(total, 1)[:, None], boundary_check=(0, 1))
        source = tl.advance(source, (0, BN))
        target = tl.advance(target, (0, BN))


@needs_block_pointers
@pytest.mark.parametrize("shape", [(16, 64), (13, 37), (1, 5)], ids=str)
def test_a_loop_over_columns(run, shape):
    wide = np.random.default_rng(1).integers(-9, 9, (shape[0], shape[1] + 3)).astype(np.float32)
    x = wide[:, : shape[1]]
    out = x * 2
    for column in range(0, shape[1], 16):
        out[:, column : column + 16] += x[:, : column + 16].sum(axis=1, keepdims=True)
    sizes = {"M": shape[0], "N": shape[1], "stride": wide.shape[1]}
    run(block_pointer_kernel, x_ptr=wide, out_ptr=Expected(out), **sizes, BM=16, BN=16)


@triton.jit
def nan_padding_kernel(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    pointer = tl.make_block_ptr(x_ptr, (N,), (1,), (4,), (BLOCK,), (0,))
    x = tl.load(pointer, boundary_check=(0,), padding_option="nan")
    tl.store(out_ptr + tl.arange(0, BLOCK), x)


@needs_block_pointers
def test_padding_with_nan(run):
    x = np.arange(20, dtype=np.float32)
    out = np.full(32, np.nan, np.float32)
    out[:16] = x[4:]
    run(nan_padding_kernel, x_ptr=x, out_ptr=Expected(out), N=20, BLOCK=32)


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    a = tl.make_block_ptr(a_ptr, (M, K), (K, 1), (row, 0), (BM, BK), (1, 0))
    b = tl.make_block_ptr(b_ptr, (K, N), (N, 1), (0, column), (BK, BN), (1, 0))
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        total += tl.dot(tl.load(a, boundary_check=(0, 1)), tl.load(b, boundary_check=(0, 1)))
        a, b = tl.advance(a, (0, BK)), tl.advance(b, (BK, 0))
    c = tl.make_block_ptr(c_ptr, (M, N), (N, 1), (row, column), (BM, BN), (1, 0))
    tl.store(c, total, boundary_check=(0, 1))


@triton.jit
def descriptor_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(a.load([row, k]), b.load([column, k]).T, total)
    c.store([row, column], total)


SIGNATURE = {
    "a_ptr": "*fp32",
    "b_ptr": "*fp32",
    "c_ptr": "*fp32",
    "M": "i32",
    "N": "i32",
    "K": "i32",
}


@pytest.mark.parametrize(
    "kernel", [pytest.param(matmul_kernel, marks=needs_block_pointers), descriptor_matmul_kernel]
)
@pytest.mark.parametrize(
    "shape", [pytest.param((32, 32, 32), marks=pytest.mark.long), (21, 45, 19)], ids=str
)
def test_matrix_product(run, shape, kernel):
    m, n, k = shape
    random = np.random.default_rng(2)
    a, b = (random.integers(-9, 9, size).astype(np.float32) for size in ((m, k), (k, n)))
    given = np.ascontiguousarray(b.T) if kernel is descriptor_matmul_kernel else b
    grid = (-(-m // 16), -(-n // 32))
    sizes = {"M": m, "N": n, "K": k, "BM": 16, "BN": 32, "BK": 16}
    run(kernel, a_ptr=a, b_ptr=given, c_ptr=Expected(a @ b), **sizes, grid=grid)


@needs_block_pointers
def test_rows_are_read_and_written_without_gathers():
    blocks = {"BM": 32, "BN": 32, "BK": 32}
    assembly = compile_kernel(matmul_kernel, SIGNATURE, blocks, RVVTarget()).assembly
    assert re.search(r"\bvle32\.v", assembly)
    assert re.search(r"\bvfmacc\.vf", assembly)
    assert not re.search(r"\bv[ls][ou]xei|\bv[ls]se\d", assembly)


def test_a_transposed_operand_is_read_with_strides():
    blocks = {"BM": 32, "BN": 32, "BK": 32}
    assembly = compile_kernel(descriptor_matmul_kernel, SIGNATURE, blocks, RVVTarget()).assembly
    assert re.search(r"\bvlse32\.v", assembly)
    assert not re.search(r"\bv[ls][ou]xei", assembly)


@triton.jit
def descriptor_kernel(x_ptr, rows_ptr, out_ptr, sum_ptr, M, N, BN: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [1, BN])
    out = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [1, BN])
    total = tl.make_tensor_descriptor(sum_ptr, [N], [1], [BN])
    rows = tl.load(rows_ptr + tl.arange(0, 8))
    gathered = x.gather(rows, 4)
    out.scatter(gathered * 10, rows, 4)
    total.atomic_add([0], tl.sum(gathered, 0))


def test_descriptors_gather_scatter_and_reduce(run):
    x = np.random.default_rng(3).integers(-9, 9, (16, 24)).astype(np.float32)
    rows = np.array([3, 1, 15, 0, 8, 9, 2, 4], np.int32)
    out, start = np.zeros((16, 24), np.float32), np.ones(24, np.float32)
    out[rows, 4:20] = x[rows, 4:20] * 10
    total = start.copy()
    total[:16] += x[rows, 4:20].sum(axis=0)
    run(
        descriptor_kernel, x_ptr=x, rows_ptr=rows, out_ptr=Expected(out, np.zeros_like(out)),
        sum_ptr=Expected(total, start), M=16, N=24, BN=16,
    )  # fmt: skip
