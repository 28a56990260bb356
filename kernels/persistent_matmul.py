"""Matrix product for GPUs that copy whole blocks: tensor descriptors, and programs that stay."""

from __future__ import annotations

import triton
import triton.language as tl

from foundation.config import Config
from kernels.references.products import factors_and_product
from kernels.spec import Grid, KernelSpec, Problem
from kernels.values import input_array, output_array, size_bytes, sizes, tolerance_of_sum
from launchers.arguments import Argument

__all__ = ["SPEC"]


@triton.jit
def _multiply_tile(
    a,
    b,
    c_ptr,
    tile,
    M,
    N,
    K,
    stride_cm,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
):
    """One tile of C: GROUP_SIZE_M rows of tiles are walked column by column."""
    tiles_of_group = GROUP_SIZE_M * tl.cdiv(N, BLOCK_SIZE_N)
    first_m = tile // tiles_of_group * GROUP_SIZE_M
    group_rows = min(tl.cdiv(M, BLOCK_SIZE_M) - first_m, GROUP_SIZE_M)
    row = (first_m + tile % tiles_of_group % group_rows) * BLOCK_SIZE_M
    column = tile % tiles_of_group // group_rows * BLOCK_SIZE_N

    total_type: tl.constexpr = tl.int32 if a.dtype.is_int() else tl.float32
    total = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=total_type)
    for step in range(tl.cdiv(K, BLOCK_SIZE_K)):
        depth = step * BLOCK_SIZE_K
        a_block, b_block = a.load([row, depth]), b.load([depth, column])
        total = tl.dot(a_block, b_block, total, input_precision="ieee", out_dtype=total_type)

    rows = row + tl.arange(0, BLOCK_SIZE_M)
    columns = column + tl.arange(0, BLOCK_SIZE_N)
    c_ptrs = c_ptr + rows[:, None] * stride_cm + columns[None, :]
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptrs, total.to(c_ptr.dtype.element_ty), mask=mask)


@triton.jit
def persistent_matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_bk,
    stride_cm,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
    NUM_PROGRAMS: tl.constexpr,
):
    """C = A @ B, whose rows are contiguous; int8 is added up in int32.

    Each of NUM_PROGRAMS programs takes every NUM_PROGRAMS-th tile, so that the loads of its next
    tile overlap with the stores of its last one; with NUM_PROGRAMS 0, each tile has a program.
    Blocks of A and B are loaded by descriptors, which give zeros outside of a matrix. On GPUs of
    NVIDIA, a descriptor's rows start at multiples of 16 bytes.
    """
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [stride_am, 1], [BLOCK_SIZE_M, BLOCK_SIZE_K])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [stride_bk, 1], [BLOCK_SIZE_K, BLOCK_SIZE_N])
    first = tl.program_id(axis=0)
    if NUM_PROGRAMS == 0:
        _multiply_tile(
            a,
            b,
            c_ptr,
            first,
            M,
            N,
            K,
            stride_cm,
            BLOCK_SIZE_M,
            BLOCK_SIZE_N,
            BLOCK_SIZE_K,
            GROUP_SIZE_M,
        )
    else:
        tiles = tl.cdiv(M, BLOCK_SIZE_M) * tl.cdiv(N, BLOCK_SIZE_N)
        for tile in tl.range(first, tiles, NUM_PROGRAMS, flatten=True):
            _multiply_tile(
                a,
                b,
                c_ptr,
                tile,
                M,
                N,
                K,
                stride_cm,
                BLOCK_SIZE_M,
                BLOCK_SIZE_N,
                BLOCK_SIZE_K,
                GROUP_SIZE_M,
            )


def _arguments(problem: Problem, config: Config) -> tuple[Argument, ...]:
    m, n, k = (problem.shape[name] for name in "MNK")
    a, b, expected = factors_and_product(problem.dtype, (m, k), (k, n), problem.outputs.dtype)
    tolerance = tolerance_of_sum(_output_dtype(problem), k, problem.dtype)
    return (
        input_array("a_ptr", a),
        input_array("b_ptr", b),
        output_array("c_ptr", expected, tolerance),
        *sizes(M=m, N=n, K=k),
        *sizes(stride_am=k, stride_bk=n, stride_cm=n),
    )


def _grid(problem: Problem, config: Config) -> Grid:
    rows = triton.cdiv(problem.shape["M"], int(config["BLOCK_SIZE_M"]))
    columns = triton.cdiv(problem.shape["N"], int(config["BLOCK_SIZE_N"]))
    most = int(config.get("NUM_PROGRAMS", 0)) or rows * columns
    return (min(rows * columns, most), 1, 1)


def _output_dtype(problem: Problem) -> str:
    return problem.outputs.dtype or ("i32" if problem.dtype == "i8" else problem.dtype)


def _traffic_bytes(problem: Problem) -> float:
    m, n, k = (problem.shape[name] for name in "MNK")
    inputs = size_bytes(problem.dtype) * (m * k + k * n)
    return inputs + size_bytes(_output_dtype(problem)) * m * n


SPEC = KernelSpec(
    name="persistent_matmul",
    kernel=persistent_matmul_kernel,
    default_shape={"M": 128, "N": 128, "K": 128},
    default_config=Config(
        {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 16, "BLOCK_SIZE_K": 16, "GROUP_SIZE_M": 8}
    ),
    dtypes=("fp32", "fp16", "bf16", "i8"),
    output_dtypes=dict.fromkeys(("fp32", "fp16", "bf16"), ("fp32", "fp16", "bf16")),
    arguments=_arguments,
    grid=_grid,
    flops=lambda problem: 2 * problem.shape["M"] * problem.shape["N"] * problem.shape["K"],
    traffic_bytes=_traffic_bytes,
    constants={"NUM_PROGRAMS": 0},
)
