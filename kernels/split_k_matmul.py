"""Matrix product that splits its sums over programs, for few rows and columns and a long K."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from foundation.config import Config, ParameterValue
from kernels.alignment import alignment, known_multiple
from kernels.references.products import factors_and_product
from kernels.spec import Grid, KernelSpec, Problem
from kernels.values import input_array, output_array, size_bytes, sizes, tolerance_of_sum
from launchers.arguments import Argument

__all__ = ["SPEC"]


@triton.jit
def split_k_matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
    SPLIT_K: tl.constexpr,
    WHOLE_ROWS: tl.constexpr,
    WHOLE_BLOCKS: tl.constexpr,
    ALIGNED: tl.constexpr = 1,
):
    """C += A @ B in fp32 or int32: tiles of C along x, SPLIT_K parts of the sums along y.

    GROUP_SIZE_M rows of tiles are walked column by column; 0 stands for all of them. A part is a
    run of whole blocks of K, so that what it reads of A lies together. With WHOLE_ROWS, M is a
    multiple of its block; with WHOLE_BLOCKS, N and K are, and no load is masked. ALIGNED divides N,
    K and the strides between rows.
    """
    N, K = known_multiple(N, ALIGNED), known_multiple(K, ALIGNED)
    stride_am, stride_bk = known_multiple(stride_am, ALIGNED), known_multiple(stride_bk, ALIGNED)
    stride_cm = known_multiple(stride_cm, ALIGNED)
    tiles_m = tl.cdiv(M, BLOCK_SIZE_M)
    tile = tl.program_id(axis=0)
    if GROUP_SIZE_M == 0:
        tile_m, tile_n = tile % tiles_m, tile // tiles_m
    else:
        tiles_of_group = GROUP_SIZE_M * tl.cdiv(N, BLOCK_SIZE_N)
        first_m = tile // tiles_of_group * GROUP_SIZE_M
        group_rows = min(tiles_m - first_m, GROUP_SIZE_M)
        tile_m = first_m + tile % tiles_of_group % group_rows
        tile_n = tile % tiles_of_group // group_rows
    rows = tile_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    columns = tile_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    part = tl.cdiv(tl.cdiv(K, BLOCK_SIZE_K), SPLIT_K) * BLOCK_SIZE_K
    start = tl.program_id(axis=1) * part
    end = min(start + part, K)
    depth = tl.arange(0, BLOCK_SIZE_K)
    # Rows past the edge wrap around, so that the loads in the loop need no mask for them.
    a_rows = rows if WHOLE_ROWS else rows % M
    a_ptrs = a_ptr + a_rows[:, None] * stride_am + (start + depth)[None, :] * stride_ak
    b_ptrs = b_ptr + (start + depth)[:, None] * stride_bk + columns[None, :] * stride_bn

    total = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=c_ptr.dtype.element_ty)
    for first in range(start, end, BLOCK_SIZE_K):
        if WHOLE_BLOCKS:
            a = tl.load(a_ptrs)
            b = tl.load(b_ptrs)
        else:
            inside = depth < end - first
            a = tl.load(a_ptrs, mask=inside[None, :], other=0.0)
            b = tl.load(b_ptrs, mask=inside[:, None] & (columns[None, :] < N), other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee", out_dtype=c_ptr.dtype.element_ty)
        a_ptrs += BLOCK_SIZE_K * stride_ak
        b_ptrs += BLOCK_SIZE_K * stride_bk

    c_ptrs = c_ptr + rows[:, None] * stride_cm + columns[None, :] * stride_cn
    if WHOLE_ROWS and WHOLE_BLOCKS:
        tl.atomic_add(c_ptrs, total, sem="relaxed")
    else:
        mask = (rows[:, None] < M) & (columns[None, :] < N)
        tl.atomic_add(c_ptrs, total, mask=mask, sem="relaxed")


def _arguments(problem: Problem, config: Config) -> tuple[Argument, ...]:
    m, n, k = (problem.shape[name] for name in "MNK")
    a, b, product = factors_and_product(problem.dtype, (m, k), (k, n))
    if problem.dtype != "i8":
        product = torch.matmul(a.double(), b.double()).float()
    tolerance = tolerance_of_sum(_output_dtype(problem), k, problem.dtype)
    return (
        input_array("a_ptr", a),
        input_array("b_ptr", b),
        output_array("c_ptr", product, tolerance, start=torch.zeros_like(product)),
        *sizes(M=m, N=n, K=k),
        *sizes(stride_am=k, stride_ak=1, stride_bk=n, stride_bn=1, stride_cm=n, stride_cn=1),
    )


def _grid(problem: Problem, config: Config) -> Grid:
    rows = triton.cdiv(problem.shape["M"], int(config["BLOCK_SIZE_M"]))
    columns = triton.cdiv(problem.shape["N"], int(config["BLOCK_SIZE_N"]))
    return (rows * columns, int(config["SPLIT_K"]), 1)


def _constants(problem: Problem, config: Config) -> dict[str, ParameterValue]:
    shape = problem.shape
    whole = {name: shape[name] % int(config[f"BLOCK_SIZE_{name}"]) == 0 for name in "MNK"}
    return {
        "GROUP_SIZE_M": 0,
        "WHOLE_ROWS": whole["M"],
        "WHOLE_BLOCKS": whole["N"] and whole["K"],
        "ALIGNED": alignment(problem, config, shape["N"], shape["K"]),
    }


def _output_dtype(problem: Problem) -> str:
    return "i32" if problem.dtype == "i8" else "fp32"


def _traffic_bytes(problem: Problem) -> float:
    m, n, k = (problem.shape[name] for name in "MNK")
    # C is read and written.
    inputs = size_bytes(problem.dtype) * (m * k + k * n)
    return inputs + 2 * size_bytes(_output_dtype(problem)) * m * n


SPEC = KernelSpec(
    name="split_k_matmul",
    kernel=split_k_matmul_kernel,
    default_shape={"M": 16, "N": 128, "K": 2048},
    default_config=Config(
        {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 16, "BLOCK_SIZE_K": 16, "SPLIT_K": 4}
    ),
    dtypes=("fp32", "fp16", "bf16", "i8"),
    arguments=_arguments,
    grid=_grid,
    flops=lambda problem: 2 * problem.shape["M"] * problem.shape["N"] * problem.shape["K"],
    traffic_bytes=_traffic_bytes,
    constants=_constants,
)
