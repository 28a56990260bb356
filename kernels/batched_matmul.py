"""Products of many pairs of matrices with one shape, such as the heads of attention."""

from __future__ import annotations

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
def batched_matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_ab,
    stride_am,
    stride_ak,
    stride_bb,
    stride_bk,
    stride_bn,
    stride_cb,
    stride_cm,
    stride_cn,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
    ALIGNED: tl.constexpr = 1,
):
    """C[b] = A[b] @ B[b]: tiles of one product along x, products along y.

    Tiles below each other follow one another, so that the columns of B stay in the cache. ALIGNED
    divides N, K and all strides but those of 1.
    """
    N, K = known_multiple(N, ALIGNED), known_multiple(K, ALIGNED)
    stride_ab, stride_am = known_multiple(stride_ab, ALIGNED), known_multiple(stride_am, ALIGNED)
    stride_bb, stride_bk = known_multiple(stride_bb, ALIGNED), known_multiple(stride_bk, ALIGNED)
    stride_cb, stride_cm = known_multiple(stride_cb, ALIGNED), known_multiple(stride_cm, ALIGNED)
    tiles_m = tl.cdiv(M, BLOCK_SIZE_M)
    tile = tl.program_id(axis=0)
    batch = tl.program_id(axis=1)
    rows = (tile % tiles_m) * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    columns = (tile // tiles_m) * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    depth = tl.arange(0, BLOCK_SIZE_K)
    a_ptrs = a_ptr + batch * stride_ab + rows[:, None] * stride_am + depth[None, :] * stride_ak
    b_ptrs = b_ptr + batch * stride_bb + depth[:, None] * stride_bk + columns[None, :] * stride_bn

    total_type: tl.constexpr = tl.int32 if a_ptr.dtype.element_ty.is_int() else tl.float32
    total = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=total_type)
    for first in range(0, K, BLOCK_SIZE_K):
        inside = depth < K - first
        a = tl.load(a_ptrs, mask=(rows[:, None] < M) & inside[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=inside[:, None] & (columns[None, :] < N), other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee", out_dtype=total_type)
        a_ptrs += BLOCK_SIZE_K * stride_ak
        b_ptrs += BLOCK_SIZE_K * stride_bk

    c_ptrs = c_ptr + batch * stride_cb + rows[:, None] * stride_cm + columns[None, :] * stride_cn
    c = total.to(c_ptr.dtype.element_ty)
    tl.store(c_ptrs, c, mask=(rows[:, None] < M) & (columns[None, :] < N))


def _arguments(problem: Problem, config: Config) -> tuple[Argument, ...]:
    batch, m, n, k = (problem.shape[name] for name in ("B", "M", "N", "K"))
    a, b, expected = factors_and_product(problem.dtype, (batch, m, k), (batch, k, n))
    tolerance = tolerance_of_sum(_output_dtype(problem), k, problem.dtype)
    return (
        input_array("a_ptr", a),
        input_array("b_ptr", b),
        output_array("c_ptr", expected, tolerance),
        *sizes(M=m, N=n, K=k),
        *sizes(stride_ab=m * k, stride_am=k, stride_ak=1),
        *sizes(stride_bb=k * n, stride_bk=n, stride_bn=1),
        *sizes(stride_cb=m * n, stride_cm=n, stride_cn=1),
    )


def _grid(problem: Problem, config: Config) -> Grid:
    rows = triton.cdiv(problem.shape["M"], int(config["BLOCK_SIZE_M"]))
    columns = triton.cdiv(problem.shape["N"], int(config["BLOCK_SIZE_N"]))
    return (rows * columns, problem.shape["B"], 1)


def _constants(problem: Problem, config: Config) -> dict[str, ParameterValue]:
    return {"ALIGNED": alignment(problem, config, problem.shape["N"], problem.shape["K"])}


def _output_dtype(problem: Problem) -> str:
    return "i32" if problem.dtype == "i8" else problem.dtype


def _flops(problem: Problem) -> float:
    batch, m, n, k = (problem.shape[name] for name in ("B", "M", "N", "K"))
    return 2 * batch * m * n * k


def _traffic_bytes(problem: Problem) -> float:
    batch, m, n, k = (problem.shape[name] for name in ("B", "M", "N", "K"))
    inputs = size_bytes(problem.dtype) * (m * k + k * n)
    return batch * (inputs + size_bytes(_output_dtype(problem)) * m * n)


SPEC = KernelSpec(
    name="batched_matmul",
    kernel=batched_matmul_kernel,
    # Queries times keys of eight heads.
    default_shape={"B": 8, "M": 128, "N": 128, "K": 64},
    default_config=Config({"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 16, "BLOCK_SIZE_K": 16}),
    dtypes=("fp32", "fp16", "bf16", "i8"),
    arguments=_arguments,
    grid=_grid,
    flops=_flops,
    traffic_bytes=_traffic_bytes,
    constants=_constants,
)
