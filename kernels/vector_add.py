"""Element-wise sum of two vectors: a minimal, memory-bound kernel."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from foundation.config import Config
from kernels.spec import Grid, KernelSpec, Problem
from kernels.values import (
    TORCH_TYPES,
    input_array,
    output_array,
    seeded_integers,
    seeded_normal,
    size_bytes,
    sizes,
)
from launchers.arguments import Argument

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
    x, y = _vector(problem, seed=0), _vector(problem, seed=1)
    return (
        input_array("x_ptr", x),
        input_array("y_ptr", y),
        output_array("output_ptr", x + y),
        *sizes(n_elements=n),
    )


def _vector(problem: Problem, seed: int) -> torch.Tensor:
    shape = (problem.shape["N"],)
    if TORCH_TYPES[problem.dtype].is_floating_point:
        return seeded_normal(shape, seed, problem.dtype)
    return seeded_integers(shape, seed, 0, 63).to(TORCH_TYPES[problem.dtype])


def _grid(problem: Problem, config: Config) -> Grid:
    return (triton.cdiv(problem.shape["N"], int(config["BLOCK_SIZE"])), 1, 1)


SPEC = KernelSpec(
    name="vector_add",
    kernel=vector_add_kernel,
    default_shape={"N": 65536},
    default_config=Config({"BLOCK_SIZE": 1024}),
    dtypes=("fp32", "fp16", "bf16", "fp64", "i8", "i16", "i32", "i64"),
    arguments=_arguments,
    grid=_grid,
    flops=lambda problem: problem.shape["N"],
    traffic_bytes=lambda problem: 3 * size_bytes(problem.dtype) * problem.shape["N"],
)
