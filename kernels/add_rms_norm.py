"""Adds a layer's output to the residual, in place, and normalises the sum by its root mean square.

From B. Zhang and R. Sennrich, Root Mean Square Layer Normalization, arXiv 1910.07467; with the
residual as in Llama's decoder.
"""

from __future__ import annotations

import triton
import triton.language as tl

from foundation.config import Config, ParameterValue
from kernels.spec import Grid, KernelSpec, Problem
from kernels.values import (
    Tolerance,
    input_array,
    output_array,
    seeded_normal,
    size_bytes,
    sizes,
    unit_roundoff,
)
from launchers.arguments import Argument

__all__ = ["SPEC"]

EPSILON = 1e-6


@triton.jit
def add_rms_norm_kernel(
    x_ptr,
    residual_ptr,
    weight_ptr,
    y_ptr,
    epsilon,
    M,
    N,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    WHOLE_ROW: tl.constexpr,
):
    """residual += x, y = residual * weight / rms(residual), for BLOCK_SIZE_M rows.

    x, residual, y: (M, N); weight: (N,). With WHOLE_ROW, a block covers a row; otherwise the sum is
    read again behind the first pass.
    """
    rows = tl.program_id(axis=0) * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    block = tl.arange(0, BLOCK_SIZE_N)
    row_at = rows[:, None] * N
    total = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)

    squares = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for first in range(0, N, BLOCK_SIZE_N):
        columns = first + block
        at = row_at + columns[None, :]
        mask = (rows[:, None] < M) & (columns[None, :] < N)
        x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
        total = x + tl.load(residual_ptr + at, mask=mask, other=0.0).to(tl.float32)
        stored = total.to(residual_ptr.dtype.element_ty)
        tl.store(residual_ptr + at, stored, mask=mask)
        total = stored.to(tl.float32)
        squares += total * total
    scale = 1 / tl.sqrt(tl.sum(squares, axis=1) / N + epsilon)

    for first in range(0, N, BLOCK_SIZE_N):
        columns = first + block
        at = row_at + columns[None, :]
        mask = (rows[:, None] < M) & (columns[None, :] < N)
        if not WHOLE_ROW:
            total = tl.load(residual_ptr + at, mask=mask, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + columns, mask=columns < N, other=0.0).to(tl.float32)
        y = total * scale[:, None] * weight[None, :]
        tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=mask)


def _arguments(problem: Problem, config: Config) -> tuple[Argument, ...]:
    m, n = problem.shape["M"], problem.shape["N"]
    x, residual = (seeded_normal((m, n), seed, problem.dtype) for seed in (0, 1))
    weight = 1 + seeded_normal((n,), 2, problem.dtype)
    total = (x.double() + residual.double()).to(x.dtype)
    scale = (total.double().square().mean(dim=1, keepdim=True) + EPSILON).rsqrt()
    y = (total.double() * scale * weight.double()).to(x.dtype)
    tolerance = Tolerance(atol=1e-6, rtol=max(1e-5, 2 * unit_roundoff(problem.dtype)))
    return (
        input_array("x_ptr", x),
        output_array("residual_ptr", total, tolerance, start=residual),
        input_array("weight_ptr", weight),
        output_array("y_ptr", y, tolerance),
        Argument("epsilon", "fp32", EPSILON),
        *sizes(M=m, N=n),
    )


def _grid(problem: Problem, config: Config) -> Grid:
    return (triton.cdiv(problem.shape["M"], int(config["BLOCK_SIZE_M"])), 1, 1)


def _default_config(problem: Problem) -> Config:
    return Config({"BLOCK_SIZE_M": 1, "BLOCK_SIZE_N": triton.next_power_of_2(problem.shape["N"])})


def _constants(problem: Problem, config: Config) -> dict[str, ParameterValue]:
    return {"WHOLE_ROW": problem.shape["N"] <= int(config["BLOCK_SIZE_N"])}


def _traffic_bytes(problem: Problem) -> float:
    m, n = problem.shape["M"], problem.shape["N"]
    return size_bytes(problem.dtype) * (4 * m * n + n)


SPEC = KernelSpec(
    name="add_rms_norm",
    kernel=add_rms_norm_kernel,
    default_shape={"M": 64, "N": 896},
    default_config=_default_config,
    dtypes=("fp32", "fp16", "bf16"),
    arguments=_arguments,
    grid=_grid,
    # Two sums and three products per element.
    flops=lambda problem: 5 * problem.shape["M"] * problem.shape["N"],
    traffic_bytes=_traffic_bytes,
    constants=_constants,
)
