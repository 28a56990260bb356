"""Attention of one new token over a cache of keys and values, with heads that share them.

A group of query heads has one head of keys and values (grouped queries: J. Ainslie et al., GQA,
arXiv 2305.13245). The cache may be split into parts, for several cores; the program that ends last
joins them (split along the cache: T. Dao et al., Flash-Decoding, 2023).
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from foundation.config import Config
from kernels.flash_attention_fwd import LOG2_E, attend
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

__all__ = ["SPEC", "arrivals", "partials"]


@triton.jit
def _is_last_part(arrivals_ptr, place, SPLITS: tl.constexpr):
    """Whether all other parts are there; the last one sets the counter of the place back to 0."""
    tl.debug_barrier()  # every thread has stored before one of them counts the program
    is_last = tl.atomic_add(arrivals_ptr + place, 1, sem="acq_rel") == SPLITS - 1
    if is_last:
        tl.store(arrivals_ptr + place, 0)
    return is_last


@triton.jit
def decode_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    partials_ptr,
    arrivals_ptr,
    scale,
    k_stride,
    v_stride,
    n_keys,
    head_size,
    group,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_DMODEL: tl.constexpr,
    SPLITS: tl.constexpr,
):
    """BLOCK_SIZE_M query heads of one head of the cache, which SPLITS programs share.

    q, out: (heads of the cache * group, head_size); k, v: for each head of the cache, n_keys rows
    of head_size, and k_stride or v_stride elements to the next head. BLOCK_SIZE_N keys are a step.
    BLOCK_SIZE_DMODEL is a power of two that covers the head. partials: for each program,
    BLOCK_SIZE_M times the largest exponent, the sum and BLOCK_SIZE_DMODEL results. arrivals: zeros,
    one for each head of the cache and block of query heads. The scale is positive.
    """
    block_of_heads, part = tl.program_id(axis=0), tl.program_id(axis=1)
    blocks_of_group = tl.cdiv(group, BLOCK_SIZE_M)
    head = block_of_heads // blocks_of_group
    rows = (block_of_heads - head * blocks_of_group) * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    keys, dims = tl.arange(0, BLOCK_SIZE_N), tl.arange(0, BLOCK_SIZE_DMODEL)
    q_at = (head * group + rows)[:, None] * head_size + dims[None, :]
    q_mask = (rows[:, None] < group) & (dims[None, :] < head_size)
    q = tl.load(q_ptr + q_at, mask=q_mask, other=0.0)
    k_ptr += head * k_stride
    v_ptr += head * v_stride
    cache_at = keys[:, None] * head_size + dims[None, :]

    # Each part is whole blocks, and none is empty: its largest exponent would be -inf.
    blocks = tl.cdiv(n_keys, BLOCK_SIZE_N)
    first_block, end_block = part * blocks // SPLITS, (part + 1) * blocks // SPLITS
    binary_scale = scale * LOG2_E
    largest = tl.full((BLOCK_SIZE_M,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_SIZE_M,), dtype=tl.float32)
    out = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_DMODEL), dtype=tl.float32)
    for block in range(first_block, end_block):
        first = block * BLOCK_SIZE_N
        largest, total, out = attend(
            q,
            k_ptr + first * head_size + cache_at,
            v_ptr + first * head_size + cache_at,
            first,
            n_keys,
            head_size,
            binary_scale,
            largest,
            total,
            out,
            rows,
            keys,
            dims,
            WHOLE_HEAD=False,
            ALL_SEEN=False,
            IS_CAUSAL=False,
        )

    if SPLITS == 1:
        out = out * (1 / total)[:, None]
        tl.store(out_ptr + q_at, out.to(out_ptr.dtype.element_ty), mask=q_mask)
    else:
        SIZE: tl.constexpr = BLOCK_SIZE_M * (BLOCK_SIZE_DMODEL + 2)
        ptr = partials_ptr + (block_of_heads * SPLITS + part) * SIZE
        rows = tl.arange(0, BLOCK_SIZE_M)
        block_at = 2 * BLOCK_SIZE_M + rows[:, None] * BLOCK_SIZE_DMODEL + dims[None, :]
        tl.store(ptr + rows, largest)
        tl.store(ptr + BLOCK_SIZE_M + rows, total)
        tl.store(ptr + block_at, out)
        if _is_last_part(arrivals_ptr, block_of_heads, SPLITS):
            ptr = partials_ptr + block_of_heads * SPLITS * SIZE
            largest = tl.full((BLOCK_SIZE_M,), -float("inf"), dtype=tl.float32)
            for other in tl.static_range(SPLITS):
                # Other programs' stores lie in L2, which .cg reads.
                its_largest = tl.load(ptr + other * SIZE + rows, cache_modifier=".cg")
                largest = tl.maximum(largest, its_largest)
            total = tl.zeros((BLOCK_SIZE_M,), dtype=tl.float32)
            out = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_DMODEL), dtype=tl.float32)
            for other in tl.static_range(SPLITS):
                part_ptr = ptr + other * SIZE
                weight = tl.exp2(tl.load(part_ptr + rows, cache_modifier=".cg") - largest)
                total += weight * tl.load(part_ptr + BLOCK_SIZE_M + rows, cache_modifier=".cg")
                its_out = tl.load(part_ptr + block_at, cache_modifier=".cg")
                out += weight[:, None] * its_out
            out = out * (1 / total)[:, None]
            tl.store(out_ptr + q_at, out.to(out_ptr.dtype.element_ty), mask=q_mask)


def _arguments(problem: Problem, config: Config) -> tuple[Argument, ...]:
    shape = problem.shape
    caches, group, n_keys, head_size = (
        shape[name] for name in ("KV_HEADS", "G", "N_CTX", "D_HEAD")
    )
    q = seeded_normal((caches * group, head_size), 0, problem.dtype)
    k, v = (seeded_normal((caches, n_keys, head_size), seed, problem.dtype) for seed in (1, 2))
    scale = head_size**-0.5
    grouped = q.double().view(caches, group, head_size)
    weights = torch.softmax(grouped @ k.double().transpose(1, 2) * scale, dim=2)
    exact = (weights @ v.double()).view(q.shape)
    # As in flash_attention_fwd: weights are rounded to the element type, and so is the result.
    roundoff = unit_roundoff(problem.dtype)
    tolerance = Tolerance(atol=2e-6 + 4 * roundoff, rtol=1e-5 + 2 * roundoff)
    counters = torch.zeros(arrivals(problem, config), dtype=torch.int32)
    return (
        input_array("q_ptr", q),
        input_array("k_ptr", k.view(caches, -1)),
        input_array("v_ptr", v.view(caches, -1)),
        output_array("out_ptr", exact.to(TORCH_TYPES[problem.dtype]), tolerance),
        input_array("partials_ptr", torch.zeros(partials(problem, config))),
        output_array("arrivals_ptr", counters, start=counters),
        Argument("scale", "fp32", scale),
        *sizes(
            k_stride=n_keys * head_size,
            v_stride=n_keys * head_size,
            n_keys=n_keys,
            head_size=head_size,
            group=group,
        ),
    )


def partials(problem: Problem, config: Config) -> Any:
    """Elements in which programs leave their parts."""
    part = int(config["BLOCK_SIZE_M"]) * (int(config["BLOCK_SIZE_DMODEL"]) + 2)
    return arrivals(problem, config) * (int(config["SPLITS"]) * part)


def arrivals(problem: Problem, config: Config) -> Any:
    """Counters of the parts that are there: one for each block of query heads."""
    blocks = triton.cdiv(problem.shape["G"], int(config["BLOCK_SIZE_M"]))
    return problem.shape["KV_HEADS"] * blocks


def _default_config(problem: Problem) -> Config:
    rows, dims = (triton.next_power_of_2(problem.shape[name]) for name in ("G", "D_HEAD"))
    blocks = {"BLOCK_SIZE_M": rows, "BLOCK_SIZE_N": 16, "BLOCK_SIZE_DMODEL": dims}
    return Config({**blocks, "SPLITS": 1})


def _grid(problem: Problem, config: Config) -> Grid:
    return (arrivals(problem, config), int(config["SPLITS"]), 1)


def _elements(problem: Problem) -> int:
    """Elements of the keys, or of the values."""
    return problem.shape["KV_HEADS"] * problem.shape["N_CTX"] * problem.shape["D_HEAD"]


def _traffic_bytes(problem: Problem) -> float:
    shape = problem.shape
    heads = shape["KV_HEADS"] * shape["G"]
    return size_bytes(problem.dtype) * 2 * (_elements(problem) + heads * shape["D_HEAD"])


SPEC = KernelSpec(
    name="decode_attention",
    kernel=decode_attention_kernel,
    default_shape={"KV_HEADS": 2, "G": 7, "N_CTX": 512, "D_HEAD": 64},
    default_config=_default_config,
    dtypes=("fp16", "fp32", "bf16"),
    arguments=_arguments,
    grid=_grid,
    # The two products over the keys; the softmax is small beside them.
    flops=lambda problem: 2 * 2 * problem.shape["G"] * _elements(problem),
    traffic_bytes=_traffic_bytes,
)
