"""Attention without storing the matrix of scores: softmax(Q K^T * scale) V, block by block.

The algorithm is FlashAttention-2's forward pass (T. Dao, arXiv 2307.08691, algorithm 1).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import torch
import triton
import triton.language as tl

from foundation.config import Config, ParameterValue
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

__all__ = ["LOG2_E", "SPEC", "attend", "make_spec"]

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def attend(
    q,
    k_ptrs,
    v_ptrs,
    first,
    n_keys,
    head_size,
    binary_scale,
    largest,
    total,
    out,
    queries,
    keys,
    dims,
    WHOLE_HEAD: tl.constexpr,
    ALL_SEEN: tl.constexpr,
    IS_CAUSAL: tl.constexpr,
):
    """The largest exponents, the sums and the results after one more block of keys.

    With ALL_SEEN, every query of the block sees all of these keys.
    """
    seen = first + keys
    mask = dims[None, :] < head_size
    if not ALL_SEEN:
        mask = mask & (seen[:, None] < n_keys)
    k = tl.load(k_ptrs) if WHOLE_HEAD and ALL_SEEN else tl.load(k_ptrs, mask=mask, other=0.0)
    if q.shape[0] == 1:
        scores = tl.sum(q.to(tl.float32) * k.to(tl.float32), axis=1)[None, :]
    else:
        scores = tl.dot(q, tl.trans(k), input_precision="ieee")
    if not ALL_SEEN:
        visible = seen[None, :] < n_keys
        if IS_CAUSAL:
            visible = visible & (seen[None, :] <= queries[:, None])
        scores = tl.where(visible, scores, -float("inf"))
    # The first block has a visible key in every row, so that no row stays at -inf.
    new_largest = tl.maximum(largest, tl.max(scores, axis=1) * binary_scale)
    weights = tl.exp2(scores * binary_scale - new_largest[:, None])
    correction = tl.exp2(largest - new_largest)
    out = out * correction[:, None]
    v = tl.load(v_ptrs) if WHOLE_HEAD and ALL_SEEN else tl.load(v_ptrs, mask=mask, other=0.0)
    out = tl.dot(weights.to(v.dtype), v, out, input_precision="ieee")
    return new_largest, total * correction + tl.sum(weights, axis=1), out


@triton.jit
def flash_attention_fwd_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    logsumexp_ptr,
    scale,
    n_queries,
    n_keys,
    head_size,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_DMODEL: tl.constexpr,
    WHOLE_HEAD: tl.constexpr,
    WHOLE_KEYS: tl.constexpr,
    IS_CAUSAL: tl.constexpr,
):
    """BLOCK_SIZE_M queries of one head a program, which walks over blocks of BLOCK_SIZE_N keys.

    q, out: (heads, n_queries, head_size); k, v: (heads, n_keys, head_size); logsumexp: (heads,
    n_queries), the logarithm of each row's sum of exponentials, which a backward pass needs.
    BLOCK_SIZE_DMODEL is a power of two that covers head_size; with WHOLE_HEAD, it is head_size.
    With WHOLE_KEYS, n_keys is a multiple of BLOCK_SIZE_N. Causal: a query sees the keys up to its
    own position. The scale is positive.
    """
    head = tl.program_id(axis=1)
    block = tl.program_id(axis=0)
    if IS_CAUSAL:
        block = tl.num_programs(axis=0) - 1 - block  # those with the most work begin first
    first_query = block * BLOCK_SIZE_M
    queries = first_query + tl.arange(0, BLOCK_SIZE_M)
    keys = tl.arange(0, BLOCK_SIZE_N)
    dims = tl.arange(0, BLOCK_SIZE_DMODEL)
    q_at = (head * n_queries + queries)[:, None] * head_size + dims[None, :]
    k_at = (head * n_keys + keys)[:, None] * head_size + dims[None, :]
    q_mask = (queries[:, None] < n_queries) & (dims[None, :] < head_size)
    q = tl.load(q_ptr + q_at, mask=q_mask, other=0.0)

    # Powers of two cost less than of e, and the scale is part of the exponent.
    binary_scale = scale * LOG2_E
    largest = tl.full((BLOCK_SIZE_M,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_SIZE_M,), dtype=tl.float32)
    out = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_DMODEL), dtype=tl.float32)
    # No block before this key needs a mask.
    all_seen = first_query // BLOCK_SIZE_N * BLOCK_SIZE_N if IS_CAUSAL else n_keys
    if not WHOLE_KEYS:
        all_seen = min(all_seen, n_keys // BLOCK_SIZE_N * BLOCK_SIZE_N)
    end = min(first_query + BLOCK_SIZE_M, n_keys) if IS_CAUSAL else n_keys
    for first in range(0, all_seen, BLOCK_SIZE_N):
        largest, total, out = attend(
            q,
            k_ptr + first * head_size + k_at,
            v_ptr + first * head_size + k_at,
            first,
            n_keys,
            head_size,
            binary_scale,
            largest,
            total,
            out,
            queries,
            keys,
            dims,
            WHOLE_HEAD,
            ALL_SEEN=True,
            IS_CAUSAL=IS_CAUSAL,
        )
    if IS_CAUSAL or not WHOLE_KEYS:
        for first in range(all_seen, end, BLOCK_SIZE_N):
            largest, total, out = attend(
                q,
                k_ptr + first * head_size + k_at,
                v_ptr + first * head_size + k_at,
                first,
                n_keys,
                head_size,
                binary_scale,
                largest,
                total,
                out,
                queries,
                keys,
                dims,
                WHOLE_HEAD,
                ALL_SEEN=False,
                IS_CAUSAL=IS_CAUSAL,
            )

    out = out * (1 / total)[:, None]  # one division a row
    tl.store(out_ptr + q_at, out.to(out_ptr.dtype.element_ty), mask=q_mask)
    logsumexp_ptrs = logsumexp_ptr + head * n_queries + queries
    tl.store(logsumexp_ptrs, (largest + tl.log2(total)) / LOG2_E, mask=queries < n_queries)


def make_spec(
    name: str, kernel: Any, is_causal: bool, constants: Mapping[str, ParameterValue]
) -> KernelSpec:
    """The kernel's entry, with or without the causal mask.

    Args:
        name, kernel: as in `KernelSpec`.
        is_causal: whether a query sees only the keys up to its own position.
        constants: besides WHOLE_HEAD and WHOLE_KEYS.
    """
    return KernelSpec(
        name=name,
        kernel=kernel,
        default_shape={"Z": 1, "H": 2, "N_CTX": 128, "D_HEAD": 64},
        default_config=_default_config,
        dtypes=("fp32", "fp16", "bf16"),
        arguments=functools.partial(_arguments, is_causal),
        grid=_grid,
        flops=functools.partial(_flops, is_causal),
        traffic_bytes=_traffic_bytes,
        constants=functools.partial(_constants, constants),
    )


def _arguments(is_causal: bool, problem: Problem, config: Config) -> tuple[Argument, ...]:
    heads, n_queries, head_size = _heads(problem), problem.shape["N_CTX"], problem.shape["D_HEAD"]
    n_keys = n_queries
    q = seeded_normal((heads, n_queries, head_size), 0, problem.dtype)
    k, v = (seeded_normal((heads, n_keys, head_size), seed, problem.dtype) for seed in (1, 2))
    scale = head_size**-0.5
    scores = q.double() @ k.double().transpose(1, 2) * scale
    if is_causal:
        scores += torch.full((n_queries, n_keys), -torch.inf, dtype=torch.float64).triu(1)
    expected = (torch.softmax(scores, dim=2) @ v.double()).to(TORCH_TYPES[problem.dtype])
    logsumexp = torch.logsumexp(scores, dim=2).float()
    # The weights are rounded to the element type, and so is the result, a mean of unit normals.
    roundoff = unit_roundoff(problem.dtype)
    tolerance = Tolerance(atol=2e-6 + 4 * roundoff, rtol=1e-5 + 2 * roundoff)
    return (
        input_array("q_ptr", q),
        input_array("k_ptr", k),
        input_array("v_ptr", v),
        output_array("out_ptr", expected, tolerance),
        output_array("logsumexp_ptr", logsumexp, Tolerance(atol=1e-5, rtol=1e-5)),
        Argument("scale", "fp32", scale),
        *sizes(n_queries=n_queries, n_keys=n_keys, head_size=head_size),
    )


def _heads(problem: Problem) -> int:
    return problem.shape["Z"] * problem.shape["H"]


def _grid(problem: Problem, config: Config) -> Grid:
    return (triton.cdiv(problem.shape["N_CTX"], int(config["BLOCK_SIZE_M"])), _heads(problem), 1)


def _constants(
    others: Mapping[str, ParameterValue], problem: Problem, config: Config
) -> dict[str, ParameterValue]:
    shape = problem.shape
    return {
        **others,
        "WHOLE_HEAD": shape["D_HEAD"] == config["BLOCK_SIZE_DMODEL"],
        "WHOLE_KEYS": shape["N_CTX"] % int(config["BLOCK_SIZE_N"]) == 0,
    }


def _default_config(problem: Problem) -> Config:
    head_size = triton.next_power_of_2(problem.shape["D_HEAD"])
    return Config({"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 16, "BLOCK_SIZE_DMODEL": head_size})


def _flops(is_causal: bool, problem: Problem) -> float:
    """Operations of the two products over the visible keys; the softmax is small beside them."""
    n, head_size = problem.shape["N_CTX"], problem.shape["D_HEAD"]
    seen = n * (n + 1) / 2 if is_causal else n * n
    return 2 * 2 * _heads(problem) * seen * head_size


def _traffic_bytes(problem: Problem) -> float:
    queries = _heads(problem) * problem.shape["N_CTX"]
    rows = 4 * problem.shape["D_HEAD"] * size_bytes(problem.dtype)
    return queries * (rows + size_bytes("fp32"))


SPEC = make_spec(
    "flash_attention_fwd",
    flash_attention_fwd_kernel,
    is_causal=False,
    constants={"IS_CAUSAL": False},
)
