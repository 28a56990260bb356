"""Layer normalisation of each row of a matrix, with weight and bias."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from foundation.config import Config, ParameterValue
from kernels.alignment import alignment, known_multiple
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

__all__ = ["EPSILON", "SPEC"]

EPSILON = 1e-5


@triton.jit
def layernorm_fwd_kernel(
    x_ptr,
    weight_ptr,
    bias_ptr,
    y_ptr,
    mean_ptr,
    rstd_ptr,
    epsilon,
    M,
    N,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    ALIGNED: tl.constexpr = 1,
):
    """y = (x - mean) * rstd * weight + bias for BLOCK_SIZE_M rows, BLOCK_SIZE_N columns at a time.

    mean and rstd, the reciprocal of the standard deviation, are kept for the backward pass. The
    variance is that of the differences from the mean, which does not cancel. ALIGNED divides N.
    """
    N = known_multiple(N, ALIGNED)
    rows = tl.program_id(axis=0) * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    block = tl.arange(0, BLOCK_SIZE_N)
    x_ptrs = x_ptr + rows[:, None] * N + block[None, :]
    y_ptrs = y_ptr + rows[:, None] * N + block[None, :]

    total = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for first in range(0, N, BLOCK_SIZE_N):
        mask = (rows[:, None] < M) & (first + block[None, :] < N)
        total += tl.load(x_ptrs + first, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=1) / N

    squares = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for first in range(0, N, BLOCK_SIZE_N):
        columns = first + block
        mask = (rows[:, None] < M) & (columns[None, :] < N)
        x = tl.load(x_ptrs + first, mask=mask, other=0.0).to(tl.float32)
        difference = tl.where(columns[None, :] < N, x - mean[:, None], 0.0)
        squares += difference * difference
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=1) / N + epsilon)
    tl.store(mean_ptr + rows, mean, mask=rows < M)
    tl.store(rstd_ptr + rows, rstd, mask=rows < M)

    for first in range(0, N, BLOCK_SIZE_N):
        columns = first + block
        mask = (rows[:, None] < M) & (columns[None, :] < N)
        x = tl.load(x_ptrs + first, mask=mask, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + columns, mask=columns < N, other=0.0).to(tl.float32)
        bias = tl.load(bias_ptr + columns, mask=columns < N, other=0.0).to(tl.float32)
        y = (x - mean[:, None]) * rstd[:, None] * weight[None, :] + bias[None, :]
        tl.store(y_ptrs + first, y.to(y_ptr.dtype.element_ty), mask=mask)


def _arguments(problem: Problem, config: Config) -> tuple[Argument, ...]:
    m, n = problem.shape["M"], problem.shape["N"]
    x = seeded_normal((m, n), 0, problem.dtype)
    weight, bias = (seeded_normal((n,), seed, problem.dtype) for seed in (1, 2))
    exact = torch.layer_norm(x.double(), (n,), weight.double(), bias.double(), EPSILON)
    mean = x.double().mean(dim=1)
    rstd = 1 / (x.double().var(dim=1, correction=0) + EPSILON).sqrt()
    tolerance = Tolerance(atol=1e-5, rtol=max(1e-5, 2 * unit_roundoff(problem.dtype)))
    return (
        input_array("x_ptr", x),
        input_array("weight_ptr", weight),
        input_array("bias_ptr", bias),
        output_array("y_ptr", exact.to(x.dtype), tolerance),
        output_array("mean_ptr", mean.float(), Tolerance(atol=1e-6, rtol=1e-5)),
        output_array("rstd_ptr", rstd.float(), Tolerance(rtol=1e-5)),
        Argument("epsilon", "fp32", EPSILON),
        *sizes(M=m, N=n),
    )


def _grid(problem: Problem, config: Config) -> Grid:
    return (triton.cdiv(problem.shape["M"], int(config["BLOCK_SIZE_M"])), 1, 1)


def _default_config(problem: Problem) -> Config:
    return Config({"BLOCK_SIZE_M": 1, "BLOCK_SIZE_N": triton.next_power_of_2(problem.shape["N"])})


def _constants(problem: Problem, config: Config) -> dict[str, ParameterValue]:
    return {"ALIGNED": alignment(problem, config, problem.shape["N"])}


def _traffic_bytes(problem: Problem) -> float:
    m, n = problem.shape["M"], problem.shape["N"]
    return size_bytes(problem.dtype) * (2 * m * n + 2 * n) + 2 * size_bytes("fp32") * m


SPEC = KernelSpec(
    name="layernorm_fwd",
    kernel=layernorm_fwd_kernel,
    default_shape={"M": 128, "N": 512},
    default_config=_default_config,
    dtypes=("fp32", "fp16", "bf16"),
    arguments=_arguments,
    grid=_grid,
    # Per element: a sum; a difference, a square and a sum; a difference, two products and a sum.
    flops=lambda problem: 8 * problem.shape["M"] * problem.shape["N"],
    traffic_bytes=_traffic_bytes,
    constants=_constants,
)
