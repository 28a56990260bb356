"""SwiGLU, the gate of a transformer's feed-forward part: silu(gate) * up.

From N. Shazeer, GLU Variants Improve Transformer, arXiv 2002.05202.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from foundation.config import Config
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
def swiglu_kernel(gate_ptr, up_ptr, y_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """y[i] = gate[i] / (1 + exp(-gate[i])) * up[i] for i < n_elements."""
    at = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = at < n_elements
    gate = tl.load(gate_ptr + at, mask=mask).to(tl.float32)
    up = tl.load(up_ptr + at, mask=mask).to(tl.float32)
    y = gate * tl.sigmoid(gate) * up
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=mask)


def _arguments(problem: Problem, config: Config) -> tuple[Argument, ...]:
    n = problem.shape["N"]
    gate, up = (seeded_normal((n,), seed, problem.dtype) for seed in (0, 1))
    expected = (torch.nn.functional.silu(gate.double()) * up.double()).to(gate.dtype)
    smallest = torch.finfo(gate.dtype).smallest_normal * torch.finfo(gate.dtype).eps
    tolerance = Tolerance(
        atol=max(1e-7, smallest), rtol=max(1e-5, 2 * unit_roundoff(problem.dtype))
    )
    return (
        input_array("gate_ptr", gate),
        input_array("up_ptr", up),
        output_array("y_ptr", expected, tolerance),
        *sizes(n_elements=n),
    )


def _grid(problem: Problem, config: Config) -> Grid:
    return (triton.cdiv(problem.shape["N"], int(config["BLOCK_SIZE"])), 1, 1)


SPEC = KernelSpec(
    name="swiglu",
    kernel=swiglu_kernel,
    default_shape={"N": 32768},
    default_config=Config({"BLOCK_SIZE": 1024}),
    dtypes=("fp32", "fp16", "bf16"),
    arguments=_arguments,
    grid=_grid,
    # An exponential, a sum, a division and two products per element.
    flops=lambda problem: 5 * problem.shape["N"],
    traffic_bytes=lambda problem: 3 * size_bytes(problem.dtype) * problem.shape["N"],
)
