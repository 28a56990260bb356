"""Matrix product in row-major order, with the grouped program order of Triton's tutorial."""

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
def matmul_kernel(
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
    ALIGNED: tl.constexpr = 1,
):
    """C = A @ B, one BLOCK_SIZE_M x BLOCK_SIZE_N tile of C a program; int8 is added up in int32.

    GROUP_SIZE_M rows of tiles are walked column by column, so that tiles of B stay in the cache.
    ALIGNED divides N, K and the strides between rows.
    """
    N, K = known_multiple(N, ALIGNED), known_multiple(K, ALIGNED)
    stride_am, stride_bk = known_multiple(stride_am, ALIGNED), known_multiple(stride_bk, ALIGNED)
    stride_cm = known_multiple(stride_cm, ALIGNED)
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_SIZE_M)
    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)
    num_pid_in_group = GROUP_SIZE_M * num_pid_n
    first_pid_m = (pid // num_pid_in_group) * GROUP_SIZE_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_SIZE_M)
    pid_m = first_pid_m + ((pid % num_pid_in_group) % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m

    # Rows past the edge wrap around, so that the loads in the loop need no mask for them.
    offs_am = (pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)) % M
    offs_bn = (pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)) % N
    offs_k = tl.arange(0, BLOCK_SIZE_K)
    a_ptrs = a_ptr + offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn

    total_type: tl.constexpr = tl.int32 if a_ptr.dtype.element_ty.is_int() else tl.float32
    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=total_type)
    for k in range(tl.cdiv(K, BLOCK_SIZE_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_SIZE_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_SIZE_K, other=0.0)
        accumulator = tl.dot(a, b, accumulator, input_precision="ieee", out_dtype=total_type)
        a_ptrs += BLOCK_SIZE_K * stride_ak
        b_ptrs += BLOCK_SIZE_K * stride_bk

    offs_cm = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    offs_cn = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    c_ptrs = c_ptr + offs_cm[:, None] * stride_cm + offs_cn[None, :] * stride_cn
    c = accumulator.to(c_ptr.dtype.element_ty)
    tl.store(c_ptrs, c, mask=(offs_cm[:, None] < M) & (offs_cn[None, :] < N))


def _arguments(problem: Problem, config: Config) -> tuple[Argument, ...]:
    m, n, k = (problem.shape[name] for name in "MNK")
    a, b, expected = factors_and_product(problem.dtype, (m, k), (k, n), problem.outputs.dtype)
    tolerance = tolerance_of_sum(_output_dtype(problem), k, problem.dtype)
    return (
        input_array("a_ptr", a),
        input_array("b_ptr", b),
        output_array("c_ptr", expected, tolerance),
        *sizes(M=m, N=n, K=k),
        *sizes(stride_am=k, stride_ak=1, stride_bk=n, stride_bn=1, stride_cm=n, stride_cn=1),
    )


def _grid(problem: Problem, config: Config) -> Grid:
    rows = triton.cdiv(problem.shape["M"], int(config["BLOCK_SIZE_M"]))
    columns = triton.cdiv(problem.shape["N"], int(config["BLOCK_SIZE_N"]))
    return (rows * columns, 1, 1)


def _constants(problem: Problem, config: Config) -> dict[str, ParameterValue]:
    return {"ALIGNED": alignment(problem, config, problem.shape["N"], problem.shape["K"])}


def _output_dtype(problem: Problem) -> str:
    return problem.outputs.dtype or ("i32" if problem.dtype == "i8" else problem.dtype)


def _traffic_bytes(problem: Problem) -> float:
    m, n, k = (problem.shape[name] for name in "MNK")
    inputs = size_bytes(problem.dtype) * (m * k + k * n)
    return inputs + size_bytes(_output_dtype(problem)) * m * n


SPEC = KernelSpec(
    name="matmul",
    kernel=matmul_kernel,
    # The shape and the untuned block of the AI-Benchmark for RISC-V boards.
    default_shape={"M": 256, "N": 512, "K": 256},
    default_config=Config(
        {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 16, "BLOCK_SIZE_K": 16, "GROUP_SIZE_M": 8}
    ),
    dtypes=("fp32", "fp16", "bf16", "i8"),
    output_dtypes=dict.fromkeys(("fp32", "fp16", "bf16"), ("fp32", "fp16", "bf16")),
    arguments=_arguments,
    grid=_grid,
    flops=lambda problem: 2 * problem.shape["M"] * problem.shape["N"] * problem.shape["K"],
    traffic_bytes=_traffic_bytes,
    constants=_constants,
)
