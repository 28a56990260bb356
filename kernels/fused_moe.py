"""Mixture of experts in one kernel: each token times its experts' matrices, weighted.

The layout is that of vLLM's fused MoE: tokens are sorted by expert and padded to whole blocks
(`moe_align_block_size`), so inputs and grid depend on BLOCK_SIZE_M.
"""

from __future__ import annotations

import functools

import torch
import triton
import triton.language as tl

from foundation.config import Config
from kernels.references.moe_alignment import AlignedTokens, moe_align_block_size
from kernels.spec import Grid, KernelSpec, Problem
from kernels.values import (
    TORCH_TYPES,
    data_set,
    input_array,
    output_array,
    seeded_normal,
    size_bytes,
    sizes,
    tolerance_of_sum,
)
from launchers.arguments import Argument

__all__ = ["SPEC"]

TOP_K = 2


@triton.jit
def fused_moe_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    topk_weights_ptr,
    sorted_token_ids_ptr,
    expert_ids_ptr,
    N,
    K,
    num_pairs,
    num_padded,
    stride_am,
    stride_be,
    stride_bk,
    stride_cm,
    TOP_K: tl.constexpr,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
):
    """C[pair] = A[pair / TOP_K] @ B[expert of pair] * weight[pair] for pairs of token and expert.

    a: (tokens, K), b: (experts, K, N), c: (num_pairs, N), rows contiguous. Blocks of rows belong to
    one expert each; GROUP_SIZE_M of them are walked column by column.
    """
    tiles_m = tl.cdiv(num_padded, BLOCK_SIZE_M)
    tiles_n = tl.cdiv(N, BLOCK_SIZE_N)
    tile = tl.program_id(axis=0)
    group = tile // (GROUP_SIZE_M * tiles_n)
    first_m = group * GROUP_SIZE_M
    group_rows = min(tiles_m - first_m, GROUP_SIZE_M)
    within = tile - group * GROUP_SIZE_M * tiles_n
    block = first_m + within % group_rows
    columns = (within // group_rows) * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)

    pairs = tl.load(sorted_token_ids_ptr + block * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M))
    real = pairs < num_pairs  # the rest is padding
    expert = tl.load(expert_ids_ptr + block)
    depth = tl.arange(0, BLOCK_SIZE_K)
    a_ptrs = a_ptr + (pairs // TOP_K)[:, None] * stride_am + depth[None, :]
    b_ptrs = b_ptr + expert * stride_be + depth[:, None] * stride_bk + columns[None, :]

    total = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for first in range(0, K, BLOCK_SIZE_K):
        inside = depth < K - first
        a = tl.load(a_ptrs, mask=real[:, None] & inside[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=inside[:, None] & (columns[None, :] < N), other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee")
        a_ptrs += BLOCK_SIZE_K
        b_ptrs += BLOCK_SIZE_K * stride_bk

    weights = tl.load(topk_weights_ptr + pairs, mask=real, other=0.0)
    c = (total * weights[:, None]).to(c_ptr.dtype.element_ty)
    c_ptrs = c_ptr + pairs[:, None] * stride_cm + columns[None, :]
    tl.store(c_ptrs, c, mask=real[:, None] & (columns[None, :] < N))


def _arguments(problem: Problem, config: Config) -> tuple[Argument, ...]:
    tokens, experts, n, k = (problem.shape[name] for name in ("M", "E", "N", "K"))
    a = seeded_normal((tokens, k), 0, problem.dtype)
    b = seeded_normal((experts, k, n), 1, problem.dtype)
    topk_ids, weights = _routing(tokens, experts)
    expected = torch.einsum("mk,mtkn,mt->mtn", a.double(), b.double()[topk_ids], weights.double())
    expected = expected.reshape(-1, n).to(TORCH_TYPES[problem.dtype])
    aligned = _aligned(tokens, experts, int(config["BLOCK_SIZE_M"]))
    return (
        input_array("a_ptr", a),
        input_array("b_ptr", b),
        output_array("c_ptr", expected, tolerance_of_sum(problem.dtype, k)),
        input_array("topk_weights_ptr", weights.flatten()),
        input_array("sorted_token_ids_ptr", aligned.sorted_token_ids),
        input_array("expert_ids_ptr", aligned.expert_ids),
        *sizes(N=n, K=k, num_pairs=tokens * TOP_K, num_padded=len(aligned.sorted_token_ids)),
        *sizes(stride_am=k, stride_be=k * n, stride_bk=n, stride_cm=n),
    )


def _routing(tokens: int, experts: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The two distinct experts of each token, and their weights: both (tokens, TOP_K).

    They are the same in both data sets, since the grid and the padding depend on them.
    """
    with data_set(0):
        likelihoods = torch.softmax(seeded_normal((tokens, experts), seed=2), dim=1)
    weights, topk_ids = torch.topk(likelihoods, TOP_K, dim=1)
    return topk_ids, weights / weights.sum(dim=1, keepdim=True)


@functools.lru_cache(maxsize=64)
def _aligned(tokens: int, experts: int, block_rows: int) -> AlignedTokens:
    return moe_align_block_size(_routing(tokens, experts)[0], block_rows, experts)


def _grid(problem: Problem, config: Config) -> Grid:
    tokens, experts, n = (problem.shape[name] for name in ("M", "E", "N"))
    blocks = len(_aligned(tokens, experts, int(config["BLOCK_SIZE_M"])).expert_ids)
    return (blocks * triton.cdiv(n, int(config["BLOCK_SIZE_N"])), 1, 1)


def _flops(problem: Problem) -> float:
    """Operations on the rows that are not padding."""
    tokens, n, k = (problem.shape[name] for name in "MNK")
    return TOP_K * tokens * n * (2 * k + 1)


def _traffic_bytes(problem: Problem) -> float:
    """Bytes without the lists of rows and experts, whose length depends on the configuration."""
    tokens, experts, n, k = (problem.shape[name] for name in ("M", "E", "N", "K"))
    elements = tokens * k + experts * k * n + TOP_K * tokens * n
    return size_bytes(problem.dtype) * elements + size_bytes("fp32") * TOP_K * tokens


SPEC = KernelSpec(
    name="fused_moe",
    kernel=fused_moe_kernel,
    default_shape={"M": 64, "E": 8, "N": 128, "K": 64},
    default_config=Config(
        {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 16, "BLOCK_SIZE_K": 16, "GROUP_SIZE_M": 1}
    ),
    dtypes=("fp32", "fp16", "bf16"),
    arguments=_arguments,
    grid=_grid,
    flops=_flops,
    traffic_bytes=_traffic_bytes,
    constants={"TOP_K": TOP_K},
)
