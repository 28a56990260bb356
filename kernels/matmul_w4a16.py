"""Product of activations in floating point with 4-bit weights that have a scale for each 32 of K.

As AWQ and GPTQ leave models: weights are quantised, activations are not. `packed_weights` says how
the weights lie.
"""

from __future__ import annotations

import triton
import triton.language as tl

from foundation.config import Config
from kernels.packed_tiles import HALF, ROW, columns_at, grid, weights_bytes
from kernels.references.packed_weights import GROUP, groups_of, packed_weights
from kernels.spec import KernelSpec, Problem
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
def _row_products(x_ptr, w_ptr, lanes):
    """A group's products with one row; 8 is taken off the weights by the sum of x."""
    total = tl.zeros(lanes.shape, dtype=tl.float32)
    x_sum = 0.0
    for k in range(HALF):
        packed = tl.load(w_ptr + k * ROW + lanes)
        low = tl.load(x_ptr + k).to(tl.float32)
        high = tl.load(x_ptr + HALF + k).to(tl.float32)
        total += (packed & 15).to(tl.float32) * low
        total += (packed >> 4).to(tl.float32) * high
        x_sum += low + high
    return total - 8 * x_sum


@triton.jit
def _widened(quantised, scale, dtype: tl.constexpr):
    """Half a group's weights as numbers."""
    return ((quantised.to(tl.float32) - 8) * scale[None, :]).to(dtype)


@triton.jit
def matmul_w4a16_kernel(
    x_ptr,
    w_ptr,
    w_scale_ptr,
    y_ptr,
    M,
    N,
    groups,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    GROUP: tl.constexpr,
):
    """Y = X W: BLOCK_SIZE_M rows of BLOCK_SIZE_N columns, which lie within a tile.

    x: (M, groups * GROUP). w and w_scale: as `PackedWeights` has them, in whole tiles, so that no
    load of them needs a mask.
    """
    first = tl.program_id(axis=0) * BLOCK_SIZE_N
    lanes = tl.arange(0, BLOCK_SIZE_N)
    inside = first + lanes < N
    w_ptr, w_scale_ptr = columns_at(w_ptr, w_scale_ptr, first, groups)
    y_ptr += first

    if BLOCK_SIZE_M == 1:
        row = tl.program_id(axis=1)
        total = tl.zeros((BLOCK_SIZE_N,), dtype=tl.float32)
        for group in range(groups):
            x_ptrs = x_ptr + (row * groups + group) * GROUP
            products = _row_products(x_ptrs, w_ptr + group * HALF * ROW, lanes)
            scale = tl.load(w_scale_ptr + group * ROW + lanes)
            total += products * scale.to(tl.float32)
        y = total.to(y_ptr.dtype.element_ty)
        tl.store(y_ptr + row * N + lanes, y, mask=inside)
    else:
        rows = tl.program_id(axis=1) * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
        half = tl.arange(0, HALF)
        in_m = rows < M
        x_ptrs = x_ptr + rows[:, None] * groups * GROUP + half[None, :]
        x_mask = in_m[:, None]
        w_ptrs = w_ptr + half[:, None] * ROW + lanes[None, :]
        total = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
        for group in range(groups):
            packed = tl.load(w_ptrs + group * HALF * ROW)
            scale = tl.load(w_scale_ptr + group * ROW + lanes)
            scale = scale.to(tl.float32)
            low = tl.load(x_ptrs + group * GROUP, mask=x_mask, other=0.0)
            high = tl.load(x_ptrs + group * GROUP + HALF, mask=x_mask, other=0.0)
            weights = _widened(packed & 15, scale, low.dtype)
            total = tl.dot(low, weights, total, input_precision="ieee")
            weights = _widened(packed >> 4, scale, high.dtype)
            total = tl.dot(high, weights, total, input_precision="ieee")
        y = total.to(y_ptr.dtype.element_ty)
        y_ptrs = y_ptr + rows[:, None] * N + lanes[None, :]
        tl.store(y_ptrs, y, mask=in_m[:, None] & inside[None, :])


def _arguments(problem: Problem, config: Config) -> tuple[Argument, ...]:
    m, n, k = (problem.shape[name] for name in "MNK")
    groups = groups_of(k)
    x = seeded_normal((m, groups * GROUP), 0, problem.dtype)
    x[:, k:] = 0
    weights = packed_weights(k, n, seed=1)
    dtype = TORCH_TYPES[problem.dtype]
    # Of several rows, weights are rounded to the type of x before they are multiplied.
    rounded = weights.values if config["BLOCK_SIZE_M"] == 1 else weights.values.to(dtype).double()
    expected = (x.double() @ rounded).to(dtype)
    roundoff = unit_roundoff(problem.dtype)
    tolerance = Tolerance(atol=4e-6 * 16 * k**0.5, rtol=max(1e-5, 2 * roundoff))
    return (
        input_array("x_ptr", x),
        input_array("w_ptr", weights.packed),
        input_array("w_scale_ptr", weights.scales),
        output_array("y_ptr", expected, tolerance),
        *sizes(M=m, N=n, groups=groups),
    )


def _traffic_bytes(problem: Problem) -> float:
    m, n, k = (problem.shape[name] for name in "MNK")
    activations = m * (groups_of(k) * GROUP + n) * size_bytes(problem.dtype)
    return weights_bytes(problem) + activations


SPEC = KernelSpec(
    name="matmul_w4a16",
    kernel=matmul_w4a16_kernel,
    default_shape={"M": 1, "N": 1024, "K": 1024},
    default_config=Config({"BLOCK_SIZE_M": 1, "BLOCK_SIZE_N": 128}),
    dtypes=("fp16", "bf16", "fp32"),
    arguments=_arguments,
    grid=grid,
    flops=lambda problem: 2 * problem.shape["M"] * problem.shape["N"] * problem.shape["K"],
    traffic_bytes=_traffic_bytes,
    constants={"GROUP": GROUP},
)
