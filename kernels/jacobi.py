"""One sweep of Jacobi's method for Laplace's equation: each point becomes its neighbours' mean."""

from __future__ import annotations

import triton
import triton.language as tl

from foundation.config import Config
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

__all__ = ["SPEC"]


@triton.jit
def jacobi_kernel(
    grid_ptr,
    out_ptr,
    height,
    width,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
):
    """out[y, x] = mean of the neighbours above, below, left and right of the point.

    grid: (height + 2, width + 2), the points with the boundary around them; out: (height, width).
    """
    rows = tl.program_id(axis=1) * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    columns = tl.program_id(axis=0) * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    mask = (rows[:, None] < height) & (columns[None, :] < width)
    line = width + 2
    above = grid_ptr + rows[:, None] * line + (columns + 1)[None, :]
    total = tl.load(above, mask=mask, other=0.0).to(tl.float32)
    total += tl.load(above + line - 1, mask=mask, other=0.0).to(tl.float32)
    total += tl.load(above + line + 1, mask=mask, other=0.0).to(tl.float32)
    total += tl.load(above + 2 * line, mask=mask, other=0.0).to(tl.float32)
    out_ptrs = out_ptr + rows[:, None] * width + columns[None, :]
    tl.store(out_ptrs, (total * 0.25).to(out_ptr.dtype.element_ty), mask=mask)


def _arguments(problem: Problem, config: Config) -> tuple[Argument, ...]:
    height, width = problem.shape["M"], problem.shape["N"]
    grid = seeded_normal((height + 2, width + 2), 0, problem.dtype)
    exact = grid.double()
    neighbours = exact[:-2, 1:-1] + exact[2:, 1:-1] + exact[1:-1, :-2] + exact[1:-1, 2:]
    expected = (neighbours / 4).to(TORCH_TYPES[problem.dtype])
    tolerance = Tolerance(atol=1e-6, rtol=max(1e-6, 2 * unit_roundoff(problem.dtype)))
    return (
        input_array("grid_ptr", grid),
        output_array("out_ptr", expected, tolerance),
        *sizes(height=height, width=width),
    )


def _grid(problem: Problem, config: Config) -> Grid:
    columns = triton.cdiv(problem.shape["N"], int(config["BLOCK_SIZE_N"]))
    rows = triton.cdiv(problem.shape["M"], int(config["BLOCK_SIZE_M"]))
    return (columns, rows, 1)


def _traffic_bytes(problem: Problem) -> float:
    height, width = problem.shape["M"], problem.shape["N"]
    return size_bytes(problem.dtype) * ((height + 2) * (width + 2) + height * width)


SPEC = KernelSpec(
    name="jacobi",
    kernel=jacobi_kernel,
    default_shape={"M": 256, "N": 256},
    default_config=Config({"BLOCK_SIZE_M": 1, "BLOCK_SIZE_N": 32}),
    dtypes=("fp32", "fp16", "bf16"),
    arguments=_arguments,
    grid=_grid,
    flops=lambda problem: 4 * problem.shape["M"] * problem.shape["N"],
    traffic_bytes=_traffic_bytes,
)
