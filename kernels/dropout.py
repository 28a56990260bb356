"""Dropout with a seed: the mask of dropped elements is computed, not stored.

The method is from Triton's tutorial on low-memory dropout.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from foundation.config import Config
from kernels.references.philox import uniform
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

SEED = 123
PROBABILITY = 0.3


@triton.jit
def dropout_kernel(x_ptr, output_ptr, n_elements, probability, seed, BLOCK_SIZE: tl.constexpr):
    """output[i] is 0 with the given probability, and x[i] / (1 - probability) otherwise."""
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    kept = tl.rand(seed, offsets) > probability
    output = tl.where(kept, x / (1 - probability), 0.0)
    tl.store(output_ptr + offsets, output.to(output_ptr.dtype.element_ty), mask=mask)


def _arguments(problem: Problem, config: Config) -> tuple[Argument, ...]:
    n = problem.shape["N"]
    x = seeded_normal((n,), 0, problem.dtype)
    kept = uniform(SEED, torch.arange(n, dtype=torch.int32).numpy()) > PROBABILITY
    expected = torch.where(torch.from_numpy(kept), x.double() / (1 - PROBABILITY), 0.0).to(x.dtype)
    tolerance = Tolerance(rtol=max(1e-6, 2 * unit_roundoff(problem.dtype)))
    return (
        input_array("x_ptr", x),
        output_array("output_ptr", expected, tolerance),
        *sizes(n_elements=n),
        Argument("probability", "fp32", PROBABILITY),
        *sizes(seed=SEED),
    )


def _grid(problem: Problem, config: Config) -> Grid:
    return (triton.cdiv(problem.shape["N"], int(config["BLOCK_SIZE"])), 1, 1)


SPEC = KernelSpec(
    name="dropout",
    kernel=dropout_kernel,
    default_shape={"N": 16384},
    default_config=Config({"BLOCK_SIZE": 1024}),
    dtypes=("fp32", "fp16", "bf16"),
    arguments=_arguments,
    grid=_grid,
    # The comparison and the product; the random numbers take only integer operations.
    flops=lambda problem: 2 * problem.shape["N"],
    traffic_bytes=lambda problem: 2 * size_bytes(problem.dtype) * problem.shape["N"],
)
