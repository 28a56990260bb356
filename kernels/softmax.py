"""Softmax over each row of a matrix, several rows a program."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.spec import Grid, KernelSpec, Problem
from kernels.values import numpy_array, seeded_normal
from launchers.arguments import Argument
from search_spaces.config import Config

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
):
    """Softmax of BLOCK_SIZE_M rows; BLOCK_SIZE_N is a power of two that covers a whole row."""
    rows = tl.program_id(0) * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    cols = tl.arange(0, BLOCK_SIZE_N)
    mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
    x = tl.load(
        input_ptr + rows[:, None] * input_row_stride + cols[None, :],
        mask=mask,
        other=-float("inf"),
    )
    # The row's largest value is taken off first, so that no exponential overflows.
    numerator = tl.exp(x - tl.max(x, axis=1)[:, None])
    denominator = tl.sum(numerator, axis=1)
    tl.store(
        output_ptr + rows[:, None] * output_row_stride + cols[None, :],
        numerator / denominator[:, None],
        mask=mask,
    )


def _arguments(problem: Problem, config: Config) -> tuple[Argument, ...]:
    n_rows, n_cols = problem.shape["M"], problem.shape["N"]
    x = seeded_normal((n_rows, n_cols), seed=0)
    expected = torch.softmax(x, dim=1)
    return (
        Argument("output_ptr", "*fp32", expected=numpy_array(expected), atol=1e-7, rtol=1e-5),
        Argument("input_ptr", "*fp32", numpy_array(x)),
        Argument("input_row_stride", "i32", n_cols),
        Argument("output_row_stride", "i32", n_cols),
        Argument("n_rows", "i32", n_rows),
        Argument("n_cols", "i32", n_cols),
    )


def _grid(problem: Problem, config: Config) -> Grid:
    return (triton.cdiv(problem.shape["M"], int(config["BLOCK_SIZE_M"])), 1, 1)


def _default_config(problem: Problem) -> Config:
    return Config({"BLOCK_SIZE_M": 1, "BLOCK_SIZE_N": triton.next_power_of_2(problem.shape["N"])})


SPEC = KernelSpec(
    name="softmax",
    kernel=softmax_kernel,
    default_shape={"M": 256, "N": 512},
    default_config=_default_config,
    dtypes=("fp32",),
    arguments=_arguments,
    grid=_grid,
    # A subtraction, an exponential, a sum, a maximum and a division an element.
    flops=lambda problem: 5 * problem.shape["M"] * problem.shape["N"],
    traffic_bytes=lambda problem: 2 * 4 * problem.shape["M"] * problem.shape["N"],
)
