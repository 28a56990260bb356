"""Product of 8-bit matrices with a scale for each 128 elements of K, as in AITER's kernel.

The scheme is from DeepSeek-V3 (arXiv 2412.19437, 3.3.2): activations have a scale per 128 elements
of a row, weights a scale per square of 128 by 128.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from foundation.config import Config
from kernels.references.products import factor
from kernels.spec import Grid, KernelSpec, Problem
from kernels.values import (
    TORCH_TYPES,
    Tolerance,
    input_array,
    output_array,
    seeded_normal,
    size_bytes,
    sizes,
    unit_roundoff,
)
from launchers.arguments import Argument
from search_spaces.gemm_a8w8_blockscale import SCALED_ELEMENTS

__all__ = ["SPEC"]


@triton.jit
def gemm_a8w8_blockscale_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    a_scale_ptr,
    b_scale_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    stride_a_scale_m,
    stride_a_scale_k,
    stride_b_scale_k,
    stride_b_scale_n,
    SCALED: tl.constexpr,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
):
    """C[m, n] = sum over k of A[m, k] * B[k, n] * a_scale[m, k / SCALED] * b_scale[.., n / SCALED].

    A tile lies within one column of b_scale, and a step of K within one scale of both: SCALED is a
    multiple of BLOCK_SIZE_N and of BLOCK_SIZE_K. GROUP_SIZE_M rows of tiles are walked column by
    column, as in the plain product.
    """
    tl.static_assert(SCALED % BLOCK_SIZE_N == 0 and SCALED % BLOCK_SIZE_K == 0)
    tiles_m = tl.cdiv(M, BLOCK_SIZE_M)
    tiles_n = tl.cdiv(N, BLOCK_SIZE_N)
    tile = tl.program_id(axis=0)
    group = tile // (GROUP_SIZE_M * tiles_n)
    first_m = group * GROUP_SIZE_M
    group_rows = min(tiles_m - first_m, GROUP_SIZE_M)
    within = tile - group * GROUP_SIZE_M * tiles_n
    first_row = (first_m + within % group_rows) * BLOCK_SIZE_M
    first_column = (within // group_rows) * BLOCK_SIZE_N

    rows = first_row + tl.arange(0, BLOCK_SIZE_M)
    columns = first_column + tl.arange(0, BLOCK_SIZE_N)
    depth = tl.arange(0, BLOCK_SIZE_K)
    a_ptrs = a_ptr + rows[:, None] * stride_am + depth[None, :] * stride_ak
    b_ptrs = b_ptr + depth[:, None] * stride_bk + columns[None, :] * stride_bn
    a_scale_ptrs = a_scale_ptr + rows * stride_a_scale_m
    b_scale_column = b_scale_ptr + (first_column // SCALED) * stride_b_scale_n

    part_type: tl.constexpr = tl.int32 if a_ptr.dtype.element_ty.is_int() else tl.float32
    total = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for scaled in range(tl.cdiv(K, SCALED)):
        part = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=part_type)
        for first in range(scaled * SCALED, min((scaled + 1) * SCALED, K), BLOCK_SIZE_K):
            inside = depth < K - first
            a = tl.load(a_ptrs, mask=(rows[:, None] < M) & inside[None, :], other=0.0)
            b = tl.load(b_ptrs, mask=inside[:, None] & (columns[None, :] < N), other=0.0)
            part = tl.dot(a, b, part, out_dtype=part_type)
            a_ptrs += BLOCK_SIZE_K * stride_ak
            b_ptrs += BLOCK_SIZE_K * stride_bk
        a_scale = tl.load(a_scale_ptrs + scaled * stride_a_scale_k, mask=rows < M, other=0.0)
        b_scale = tl.load(b_scale_column + scaled * stride_b_scale_k)
        total += part.to(tl.float32) * (a_scale * b_scale)[:, None]

    c_ptrs = c_ptr + rows[:, None] * stride_cm + columns[None, :] * stride_cn
    c = total.to(c_ptr.dtype.element_ty)
    tl.store(c_ptrs, c, mask=(rows[:, None] < M) & (columns[None, :] < N))


def _arguments(problem: Problem, config: Config) -> tuple[Argument, ...]:
    m, n, k = (problem.shape[name] for name in "MNK")
    scales_k, scales_n = -(-k // SCALED_ELEMENTS), -(-n // SCALED_ELEMENTS)
    a, b = factor(problem.dtype, (m, k), seed=0), factor(problem.dtype, (k, n), seed=1)
    # Positive scales that bring the elements back to about unit size.
    size = 1 / a.double().square().mean().sqrt().float()
    a_scale = (0.5 + seeded_normal((m, scales_k), seed=2).abs()) * size
    b_scale = (0.5 + seeded_normal((scales_k, scales_n), seed=3).abs()) * size
    expected = torch.matmul(
        a.double() * _spread(a_scale, 1)[:, :k],
        b.double() * _spread(_spread(b_scale, 0), 1)[:k, :n],
    ).to(TORCH_TYPES[_output_dtype(problem)])
    # The scales on each side go up to about 4.
    roundoff = unit_roundoff(_output_dtype(problem))
    tolerance = Tolerance(atol=4e-6 * 16 * k**0.5, rtol=max(1e-5, 2 * roundoff))
    return (
        input_array("a_ptr", a),
        input_array("b_ptr", b),
        output_array("c_ptr", expected, tolerance),
        input_array("a_scale_ptr", a_scale),
        input_array("b_scale_ptr", b_scale),
        *sizes(M=m, N=n, K=k),
        *sizes(stride_am=k, stride_ak=1, stride_bk=n, stride_bn=1, stride_cm=n, stride_cn=1),
        *sizes(stride_a_scale_m=scales_k, stride_a_scale_k=1),
        *sizes(stride_b_scale_k=scales_n, stride_b_scale_n=1),
    )


def _spread(scales: torch.Tensor, axis: int) -> torch.Tensor:
    """Each scale repeated for every element that it scales."""
    return scales.double().repeat_interleave(SCALED_ELEMENTS, dim=axis)


def _grid(problem: Problem, config: Config) -> Grid:
    rows = triton.cdiv(problem.shape["M"], int(config["BLOCK_SIZE_M"]))
    columns = triton.cdiv(problem.shape["N"], int(config["BLOCK_SIZE_N"]))
    return (rows * columns, 1, 1)


def _output_dtype(problem: Problem) -> str:
    return problem.outputs.dtype or "bf16"


def _traffic_bytes(problem: Problem) -> float:
    m, n, k = (problem.shape[name] for name in "MNK")
    scales_k, scales_n = -(-k // SCALED_ELEMENTS), -(-n // SCALED_ELEMENTS)
    scales = size_bytes("fp32") * scales_k * (m + scales_n)
    output = size_bytes(_output_dtype(problem)) * m * n
    return size_bytes(problem.dtype) * (m * k + k * n) + scales + output


SPEC = KernelSpec(
    name="gemm_a8w8_blockscale",
    kernel=gemm_a8w8_blockscale_kernel,
    default_shape={"M": 32, "N": 256, "K": 512},
    default_config=Config(
        {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 16, "BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 1}
    ),
    dtypes=("i8", "fp8e4nv", "fp8e5"),
    output_dtypes=dict.fromkeys(("i8", "fp8e4nv", "fp8e5"), ("bf16", "fp16", "fp32")),
    arguments=_arguments,
    grid=_grid,
    flops=lambda problem: 2 * problem.shape["M"] * problem.shape["N"] * problem.shape["K"],
    traffic_bytes=_traffic_bytes,
    constants={"SCALED": SCALED_ELEMENTS},
)
