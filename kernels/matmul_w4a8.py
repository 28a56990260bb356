"""Product of 8-bit activations with 4-bit weights, both with a scale for each 32 elements of K.

What language models with quantised weights run: one row for each token that is generated (decode),
and many for a prompt (prefill). Activations are quantised as in llama.cpp's format Q8_1, which has
the sum of each group as well; weights as `packed_weights` says.
"""

from __future__ import annotations

import torch
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
    seeded_integers,
    seeded_normal,
    size_bytes,
    sizes,
    unit_roundoff,
)
from launchers.arguments import Argument

__all__ = ["SPEC"]


@triton.jit
def _row_products(x_ptr, x_sum_ptr, w_ptr, lanes):
    """What a group adds to one row, in 16 bits.

    Sums on the way may wrap. What is left without the 8 cannot: it is at most 32 * 8 * 127.
    """
    total = tl.zeros(lanes.shape, dtype=tl.int16)
    for k in range(HALF):
        packed = tl.load(w_ptr + k * ROW + lanes)
        total += (packed & 15).to(tl.int16) * tl.load(x_ptr + k).to(tl.int16)
        total += (packed >> 4).to(tl.int16) * tl.load(x_ptr + HALF + k).to(tl.int16)
    return total - (8 * tl.load(x_sum_ptr)).to(tl.int16)


@triton.jit
def _block_products(x_ptrs, w_ptr, lanes, rows_inside):
    """What a group adds to a block of rows, whose weights are numbers from -8 to 7."""
    half = tl.arange(0, HALF)
    x_mask = rows_inside[:, None]
    packed = tl.load(w_ptr + half[:, None] * ROW + lanes[None, :])
    low = tl.load(x_ptrs + half[None, :], mask=x_mask, other=0)
    high = tl.load(x_ptrs + HALF + half[None, :], mask=x_mask, other=0)
    products = tl.dot(low, (packed & 15).to(tl.int8) - 8, out_dtype=tl.int32)
    return tl.dot(high, (packed >> 4).to(tl.int8) - 8, products, out_dtype=tl.int32)


@triton.jit
def matmul_w4a8_kernel(
    x_ptr,
    x_scale_ptr,
    x_sum_ptr,
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

    x: (M, groups * GROUP), int8 from -127 on, with the scale and the sum of each group in x_scale
    and x_sum, both (M, groups). w and w_scale: as `PackedWeights` has them, in whole tiles, so that
    no load of them needs a mask. For one row, 8 is taken off the weights behind the products, by
    the sums of x; many rows share weights from which it is taken before.
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
            at = row * groups + group
            w_ptrs = w_ptr + group * HALF * ROW
            products = _row_products(x_ptr + at * GROUP, x_sum_ptr + at, w_ptrs, lanes)
            scale = tl.load(w_scale_ptr + group * ROW + lanes)
            total += products.to(tl.float32) * (tl.load(x_scale_ptr + at) * scale.to(tl.float32))
        y = total.to(y_ptr.dtype.element_ty)
        tl.store(y_ptr + row * N + lanes, y, mask=inside)
    else:
        rows = tl.program_id(axis=1) * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
        in_m = rows < M
        total = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
        for group in range(groups):
            at = rows * groups + group
            x_ptrs = x_ptr + (at * GROUP)[:, None]
            products = _block_products(x_ptrs, w_ptr + group * HALF * ROW, lanes, in_m)
            scale = tl.load(w_scale_ptr + group * ROW + lanes)
            x_scale = tl.load(x_scale_ptr + at, mask=in_m, other=0.0)
            total += products.to(tl.float32) * x_scale[:, None] * scale.to(tl.float32)[None, :]
        y = total.to(y_ptr.dtype.element_ty)
        y_ptrs = y_ptr + rows[:, None] * N + lanes[None, :]
        tl.store(y_ptrs, y, mask=in_m[:, None] & inside[None, :])


def _arguments(problem: Problem, config: Config) -> tuple[Argument, ...]:
    m, n, k = (problem.shape[name] for name in "MNK")
    groups = groups_of(k)
    x = seeded_integers((m, groups * GROUP), 0, -127, 127).to(torch.int8)
    x[:, k:] = 0
    x_scale = (0.5 + seeded_normal((m, groups), 1).abs()) / 64
    weights = packed_weights(k, n, seed=2)
    exact = (x.double() * x_scale.double().repeat_interleave(GROUP, dim=1)) @ weights.values
    expected = exact.to(TORCH_TYPES[_output_dtype(problem)])
    # Products of a group are exact; each is rounded a few times as it is scaled and added.
    roundoff = unit_roundoff(_output_dtype(problem))
    tolerance = Tolerance(atol=4e-6 * 16 * k**0.5, rtol=max(1e-5, 2 * roundoff))
    return (
        input_array("x_ptr", x),
        input_array("x_scale_ptr", x_scale),
        input_array("x_sum_ptr", x.int().view(m, groups, GROUP).sum(2, dtype=torch.int32)),
        input_array("w_ptr", weights.packed),
        input_array("w_scale_ptr", weights.scales),
        output_array("y_ptr", expected, tolerance),
        *sizes(M=m, N=n, groups=groups),
    )


def _output_dtype(problem: Problem) -> str:
    return problem.outputs.dtype or "fp32"


def _traffic_bytes(problem: Problem) -> float:
    m, n, k = (problem.shape[name] for name in "MNK")
    activations = m * groups_of(k) * (GROUP + size_bytes("fp32") + size_bytes("i32"))
    return activations + weights_bytes(problem) + m * n * size_bytes(_output_dtype(problem))


SPEC = KernelSpec(
    name="matmul_w4a8",
    kernel=matmul_w4a8_kernel,
    default_shape={"M": 1, "N": 1024, "K": 1024},
    default_config=Config({"BLOCK_SIZE_M": 1, "BLOCK_SIZE_N": 128}),
    dtypes=("i8",),
    output_dtypes={"i8": ("fp32", "fp16", "bf16")},
    arguments=_arguments,
    grid=grid,
    flops=lambda problem: 2 * problem.shape["M"] * problem.shape["N"] * problem.shape["K"],
    traffic_bytes=_traffic_bytes,
    constants={"GROUP": GROUP},
)
