"""Softmax over each row of a matrix, several rows per program."""

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

__all__ = ["SPEC"]


@triton.jit
def softmax_kernel(
    output_ptr,
    input_ptr,
    input_row_stride,
    output_row_stride,
    n_rows,
    n_cols,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    ALIGNED: tl.constexpr = 1,
):
    """Softmax of BLOCK_SIZE_M rows; BLOCK_SIZE_N is a power of two that covers a whole row.

    ALIGNED divides n_cols and the strides.
    """
    n_cols = known_multiple(n_cols, ALIGNED)
    input_row_stride = known_multiple(input_row_stride, ALIGNED)
    output_row_stride = known_multiple(output_row_stride, ALIGNED)
    rows = tl.program_id(0) * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    cols = tl.arange(0, BLOCK_SIZE_N)
    mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
    x = tl.load(
        input_ptr + rows[:, None] * input_row_stride + cols[None, :],
        mask=mask,
        other=-float("inf"),
    ).to(tl.float32)
    # The row's largest value is taken off first, so that no exponential overflows.
    numerator = tl.exp(x - tl.max(x, axis=1)[:, None])
    # One division a row: a core's vector division takes as long as a dozen products.
    output = numerator * (1 / tl.sum(numerator, axis=1))[:, None]
    tl.store(
        output_ptr + rows[:, None] * output_row_stride + cols[None, :],
        output.to(output_ptr.dtype.element_ty),
        mask=mask,
    )


def _arguments(problem: Problem, config: Config) -> tuple[Argument, ...]:
    n_rows, n_cols = problem.shape["M"], problem.shape["N"]
    x = seeded_normal((n_rows, n_cols), 0, problem.dtype)
    expected = torch.softmax(x.double(), dim=1).to(x.dtype)
    # Below 2^-24, a half-precision result is zero or the smallest positive number.
    smallest = torch.finfo(x.dtype).smallest_normal * torch.finfo(x.dtype).eps
    roundoff = unit_roundoff(problem.dtype)
    tolerance = Tolerance(atol=max(1e-7, smallest), rtol=max(1e-5, 2 * roundoff))
    return (
        output_array("output_ptr", expected, tolerance),
        input_array("input_ptr", x),
        *sizes(input_row_stride=n_cols, output_row_stride=n_cols, n_rows=n_rows, n_cols=n_cols),
    )


def _grid(problem: Problem, config: Config) -> Grid:
    return (triton.cdiv(problem.shape["M"], int(config["BLOCK_SIZE_M"])), 1, 1)


def _default_config(problem: Problem) -> Config:
    return Config({"BLOCK_SIZE_M": 1, "BLOCK_SIZE_N": triton.next_power_of_2(problem.shape["N"])})


def _constants(problem: Problem, config: Config) -> dict[str, ParameterValue]:
    return {"ALIGNED": alignment(problem, config, problem.shape["N"])}


def _traffic_bytes(problem: Problem) -> float:
    return 2 * size_bytes(problem.dtype) * problem.shape["M"] * problem.shape["N"]


SPEC = KernelSpec(
    name="softmax",
    kernel=softmax_kernel,
    default_shape={"M": 256, "N": 512},
    default_config=_default_config,
    dtypes=("fp32", "fp16", "bf16"),
    arguments=_arguments,
    grid=_grid,
    # A subtraction, an exponential, a sum, a maximum and a division per element.
    flops=lambda problem: 5 * problem.shape["M"] * problem.shape["N"],
    traffic_bytes=_traffic_bytes,
    constants=_constants,
)
