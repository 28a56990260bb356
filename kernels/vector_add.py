"""Element-wise sum of two vectors: the smallest kernel, bound by memory."""

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
def vector_add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """output[i] = x[i] + y[i] for i < n_elements."""
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, x + y, mask=mask)


def _arguments(problem: Problem, config: Config) -> tuple[Argument, ...]:
    n = problem.shape["N"]
    x, y = seeded_normal((n,), seed=0), seeded_normal((n,), seed=1)
    expected = torch.add(x, y)
    return (
        Argument("x_ptr", "*fp32", numpy_array(x)),
        Argument("y_ptr", "*fp32", numpy_array(y)),
        Argument("output_ptr", "*fp32", expected=numpy_array(expected)),
        Argument("n_elements", "i32", n),
    )


def _grid(problem: Problem, config: Config) -> Grid:
    return (triton.cdiv(problem.shape["N"], int(config["BLOCK_SIZE"])), 1, 1)


SPEC = KernelSpec(
    name="vector_add",
    kernel=vector_add_kernel,
    default_shape={"N": 65536},
    default_config=Config({"BLOCK_SIZE": 1024}),
    dtypes=("fp32",),
    arguments=_arguments,
    grid=_grid,
    flops=lambda problem: problem.shape["N"],
    traffic_bytes=lambda problem: 3 * 4 * problem.shape["N"],
)
