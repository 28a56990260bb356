"""Quantises activations to 8 bits, with a scale and a sum for each 32 elements of a row.

What `matmul_w4a8` takes; the numbers are those of llama.cpp's format Q8_1, with the scale in fp32
and the sum before it is scaled.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from foundation.config import Config
from kernels.references.packed_weights import GROUP, groups_of
from kernels.spec import Grid, KernelSpec, Problem
from kernels.values import (
    TORCH_TYPES,
    Tolerance,
    input_array,
    output_array,
    seeded_integers,
    seeded_normal,
    size_bytes,
    sizes,
)
from launchers.arguments import Argument

__all__ = ["SPEC"]

_MOST = 127


@triton.jit
def quantize_groups_kernel(
    x_ptr,
    q_ptr,
    scale_ptr,
    sum_ptr,
    K,
    groups,
    BLOCK_SIZE_G: tl.constexpr,
    GROUP: tl.constexpr,
):
    """q = x / scale, rounded to the nearest integer, for BLOCK_SIZE_G groups of one row.

    x: (M, K); q: (M, groups * GROUP), int8, with zeros behind K; scale and sum, of each group of q:
    (M, groups). The largest element of a group becomes 127 or -127.
    """
    row = tl.program_id(axis=1)
    group = tl.program_id(axis=0) * BLOCK_SIZE_G + tl.arange(0, BLOCK_SIZE_G)
    at = group[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    x = tl.load(x_ptr + row * K + at, mask=at < K, other=0.0).to(tl.float32)
    largest = tl.max(tl.abs(x), axis=1)
    scaled = x * tl.where(largest > 0, 127 / largest, 0.0)[:, None]
    q = tl.where(scaled >= 0, scaled + 0.5, scaled - 0.5).to(tl.int8)
    inside = group < groups
    tl.store(q_ptr + row * groups * GROUP + at, q, mask=inside[:, None])
    tl.store(scale_ptr + row * groups + group, largest / 127, mask=inside)
    tl.store(sum_ptr + row * groups + group, tl.sum(q.to(tl.int32), axis=1), mask=inside)


def _arguments(problem: Problem, config: Config) -> tuple[Argument, ...]:
    m, k = (problem.shape[name] for name in "MK")
    groups = groups_of(k)
    # Values that lie .4 or less from an integer times a power of 2: rounding leaves no doubt.
    q = seeded_integers((m, groups, GROUP), 0, 1 - _MOST, _MOST - 1)
    q[..., 0] = _MOST
    between = seeded_normal((m, groups, GROUP), 1).tanh() * 0.4
    between[..., 0] = 0
    powers = 2.0 ** seeded_integers((m, groups, 1), 2, -7, 0)
    q, between = (part.view(m, -1) for part in (q, between))
    q[:, k:], between[:, k:] = 0, 0
    x = ((q + between).view(m, groups, GROUP) * powers).view(m, -1)[:, :k]
    return (
        input_array("x_ptr", x.to(TORCH_TYPES[problem.dtype])),
        output_array("q_ptr", q.to(torch.int8)),
        output_array("scale_ptr", powers[..., 0].float(), Tolerance(atol=0, rtol=1e-6)),
        output_array("sum_ptr", q.view(m, groups, GROUP).sum(2).int()),
        *sizes(K=k, groups=groups),
    )


def _grid(problem: Problem, config: Config) -> Grid:
    blocks = triton.cdiv(groups_of(problem.shape["K"]), int(config["BLOCK_SIZE_G"]))
    return (blocks, problem.shape["M"], 1)


def _traffic_bytes(problem: Problem) -> float:
    m, k = (problem.shape[name] for name in "MK")
    of_group = GROUP + size_bytes("fp32") + size_bytes("i32")
    return m * (k * size_bytes(problem.dtype) + groups_of(k) * of_group)


SPEC = KernelSpec(
    name="quantize_groups",
    kernel=quantize_groups_kernel,
    default_shape={"M": 64, "K": 896},
    default_config=Config({"BLOCK_SIZE_G": 4}),
    dtypes=("fp32", "fp16"),
    arguments=_arguments,
    grid=_grid,
    # A comparison, a product and a sum before it is rounded, and one more behind that.
    flops=lambda problem: 4 * problem.shape["M"] * problem.shape["K"],
    traffic_bytes=_traffic_bytes,
    constants={"GROUP": GROUP},
)
