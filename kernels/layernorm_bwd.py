"""Gradients of layer normalisation with respect to the input, the weight and the bias."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from foundation.config import Config
from kernels.layernorm_fwd import EPSILON
from kernels.spec import Grid, KernelSpec, Problem
from kernels.values import (
    Tolerance,
    input_array,
    output_array,
    seeded_normal,
    size_bytes,
    sizes,
    tolerance_of_sum,
    unit_roundoff,
)
from launchers.arguments import Argument

__all__ = ["SPEC"]


@triton.jit
def layernorm_bwd_kernel(
    dy_ptr,
    x_ptr,
    weight_ptr,
    mean_ptr,
    rstd_ptr,
    dx_ptr,
    dweight_ptr,
    dbias_ptr,
    M,
    N,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    ROW_BLOCKS: tl.constexpr,
):
    """dx, and the program's share of dweight and dbias, for ROW_BLOCKS blocks of rows.

    BLOCK_SIZE_N is a power of two that covers a row. With n = (x - mean) * rstd, the normalised
    input, and g = dy * weight: dx = (g - mean(g) - n * mean(g * n)) * rstd, dweight = sum of
    dy * n and dbias = sum of dy over the rows. The sums are added to dweight and dbias, in fp32.
    """
    columns = tl.arange(0, BLOCK_SIZE_N)
    weight = tl.load(weight_ptr + columns, mask=columns < N, other=0.0).to(tl.float32)
    dweight = tl.zeros((BLOCK_SIZE_N,), dtype=tl.float32)
    dbias = tl.zeros((BLOCK_SIZE_N,), dtype=tl.float32)
    first = tl.program_id(axis=0) * (ROW_BLOCKS * BLOCK_SIZE_M)
    for start in range(first, min(first + ROW_BLOCKS * BLOCK_SIZE_M, M), BLOCK_SIZE_M):
        rows = start + tl.arange(0, BLOCK_SIZE_M)
        mask = (rows[:, None] < M) & (columns[None, :] < N)
        at = rows[:, None] * N + columns[None, :]
        x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at, mask=mask, other=0.0).to(tl.float32)
        mean = tl.load(mean_ptr + rows, mask=rows < M, other=0.0)
        rstd = tl.load(rstd_ptr + rows, mask=rows < M, other=0.0)
        normalised = tl.where(mask, (x - mean[:, None]) * rstd[:, None], 0.0)
        gradient = dy * weight[None, :]
        mean_gradient = tl.sum(gradient, axis=1) / N
        mean_product = tl.sum(gradient * normalised, axis=1) / N
        dx = gradient - mean_gradient[:, None] - normalised * mean_product[:, None]
        tl.store(dx_ptr + at, (dx * rstd[:, None]).to(dx_ptr.dtype.element_ty), mask=mask)
        dweight += tl.sum(dy * normalised, axis=0)
        dbias += tl.sum(dy, axis=0)
    tl.atomic_add(dweight_ptr + columns, dweight, mask=columns < N, sem="relaxed")
    tl.atomic_add(dbias_ptr + columns, dbias, mask=columns < N, sem="relaxed")


def _arguments(problem: Problem, config: Config) -> tuple[Argument, ...]:
    m, n = problem.shape["M"], problem.shape["N"]
    dy, x = (seeded_normal((m, n), seed, problem.dtype) for seed in (0, 1))
    weight = seeded_normal((n,), 2, problem.dtype)
    leaves = [x.double(), weight.double(), torch.zeros(n, dtype=torch.float64)]
    for leaf in leaves:
        leaf.requires_grad_()
    y = torch.layer_norm(leaves[0], (n,), leaves[1], leaves[2], EPSILON)
    dx, dweight, dbias = torch.autograd.grad(y, leaves, dy.double())
    mean = x.double().mean(dim=1)
    rstd = 1 / (x.double().var(dim=1, correction=0) + EPSILON).sqrt()
    tolerance = Tolerance(atol=2e-5, rtol=max(1e-5, 2 * unit_roundoff(problem.dtype)))
    zeros = torch.zeros(n)
    return (
        input_array("dy_ptr", dy),
        input_array("x_ptr", x),
        input_array("weight_ptr", weight),
        input_array("mean_ptr", mean.float()),
        input_array("rstd_ptr", rstd.float()),
        output_array("dx_ptr", dx.to(x.dtype), tolerance),
        output_array("dweight_ptr", dweight.float(), tolerance_of_sum("fp32", m), start=zeros),
        output_array("dbias_ptr", dbias.float(), tolerance_of_sum("fp32", m), start=zeros),
        *sizes(M=m, N=n),
    )


def _grid(problem: Problem, config: Config) -> Grid:
    rows = int(config["BLOCK_SIZE_M"]) * int(config["ROW_BLOCKS"])
    return (triton.cdiv(problem.shape["M"], rows), 1, 1)


def _default_config(problem: Problem) -> Config:
    columns = triton.next_power_of_2(problem.shape["N"])
    return Config({"BLOCK_SIZE_M": 1, "BLOCK_SIZE_N": columns, "ROW_BLOCKS": 1})


def _traffic_bytes(problem: Problem) -> float:
    """Bytes of the arguments; dweight and dbias are both read and written."""
    m, n = problem.shape["M"], problem.shape["N"]
    return size_bytes(problem.dtype) * (3 * m * n + n) + size_bytes("fp32") * (2 * m + 4 * n)


SPEC = KernelSpec(
    name="layernorm_bwd",
    kernel=layernorm_bwd_kernel,
    default_shape={"M": 128, "N": 512},
    default_config=_default_config,
    dtypes=("fp32", "fp16", "bf16"),
    arguments=_arguments,
    grid=_grid,
    # Per element: two for n, one for g, four for the means, four for dx and three for the sums.
    flops=lambda problem: 14 * problem.shape["M"] * problem.shape["N"],
    traffic_bytes=_traffic_bytes,
)
