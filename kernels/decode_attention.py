"""Attention of one new token over a cache of keys and values, with heads that share them.

A group of query heads has one head of keys and values (grouped queries: J. Ainslie et al., GQA,
arXiv 2305.13245). The cache may be split into parts, for several cores; the program that ends last
joins them (split along the cache: T. Dao et al., Flash-Decoding, 2023).
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from foundation.config import Config, ParameterValue
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

__all__ = ["SPEC"]


@triton.jit
def _is_last_part(arrivals_ptr, head, SPLITS: tl.constexpr):
    """Whether all other parts of this head are there; the last one sets the counter back to 0."""
    tl.debug_barrier()  # every thread has stored before one of them counts the program
    is_last = tl.atomic_add(arrivals_ptr + head, 1, sem="acq_rel") == SPLITS - 1
    if is_last:
        tl.store(arrivals_ptr + head, 0)
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
    n_keys,
    head_size,
    group,
    BLOCK_SIZE_N: tl.constexpr,
    SPLITS: tl.constexpr,
    ROWS: tl.constexpr,
    DIMS: tl.constexpr,
):
    """The query heads of one head of the cache, SPLITS programs for each, BLOCK_SIZE_N keys a step.

    q, out: (heads of the cache * group, head_size); k, v: (heads of the cache, n_keys, head_size).
    ROWS and DIMS are powers of two that cover the group and the head. partials: for each head of
    the cache and part, ROWS times the largest exponent, the sum and DIMS results. The scale is
    positive.
    """
    head, part = tl.program_id(axis=0), tl.program_id(axis=1)
    rows, keys, dims = tl.arange(0, ROWS), tl.arange(0, BLOCK_SIZE_N), tl.arange(0, DIMS)
    q_at = (head * group + rows)[:, None] * head_size + dims[None, :]
    q_mask = (rows[:, None] < group) & (dims[None, :] < head_size)
    q = tl.load(q_ptr + q_at, mask=q_mask, other=0.0)
    cache_at = (head * n_keys + keys)[:, None] * head_size + dims[None, :]

    # Each part is whole blocks, and none is empty: its largest exponent would be -inf.
    blocks = tl.cdiv(n_keys, BLOCK_SIZE_N)
    first_block, end_block = part * blocks // SPLITS, (part + 1) * blocks // SPLITS
    binary_scale = scale * LOG2_E
    largest = tl.full((ROWS,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((ROWS,), dtype=tl.float32)
    out = tl.zeros((ROWS, DIMS), dtype=tl.float32)
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
        SIZE: tl.constexpr = ROWS * (DIMS + 2)
        ptr = partials_ptr + (head * SPLITS + part) * SIZE
        block_at = 2 * ROWS + rows[:, None] * DIMS + dims[None, :]
        tl.store(ptr + rows, largest)
        tl.store(ptr + ROWS + rows, total)
        tl.store(ptr + block_at, out)
        if _is_last_part(arrivals_ptr, head, SPLITS):
            ptr = partials_ptr + head * SPLITS * SIZE
            largest = tl.full((ROWS,), -float("inf"), dtype=tl.float32)
            for other in tl.static_range(SPLITS):
                # Other programs' stores lie in L2, which .cg reads.
                its_largest = tl.load(ptr + other * SIZE + rows, cache_modifier=".cg")
                largest = tl.maximum(largest, its_largest)
            total = tl.zeros((ROWS,), dtype=tl.float32)
            out = tl.zeros((ROWS, DIMS), dtype=tl.float32)
            for other in tl.static_range(SPLITS):
                part_ptr = ptr + other * SIZE
                weight = tl.exp2(tl.load(part_ptr + rows, cache_modifier=".cg") - largest)
                total += weight * tl.load(part_ptr + ROWS + rows, cache_modifier=".cg")
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
    constants = _constants(problem, config)
    splits, rows, dims = int(config["SPLITS"]), int(constants["ROWS"]), int(constants["DIMS"])
    arrivals = torch.zeros(caches, dtype=torch.int32)
    return (
        input_array("q_ptr", q),
        input_array("k_ptr", k),
        input_array("v_ptr", v),
        output_array("out_ptr", exact.to(TORCH_TYPES[problem.dtype]), tolerance),
        input_array("partials_ptr", torch.zeros(caches * splits, rows * (dims + 2))),
        output_array("arrivals_ptr", arrivals, start=arrivals),
        Argument("scale", "fp32", scale),
        *sizes(n_keys=n_keys, head_size=head_size, group=group),
    )


def _constants(problem: Problem, config: Config) -> dict[str, ParameterValue]:
    return {
        "ROWS": triton.next_power_of_2(problem.shape["G"]),
        "DIMS": triton.next_power_of_2(problem.shape["D_HEAD"]),
    }


def _grid(problem: Problem, config: Config) -> Grid:
    return (problem.shape["KV_HEADS"], int(config["SPLITS"]), 1)


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
    default_config=Config({"BLOCK_SIZE_N": 16, "SPLITS": 1}),
    dtypes=("fp16", "fp32", "bf16"),
    arguments=_arguments,
    grid=_grid,
    # The two products over the keys; the softmax is small beside them.
    flops=lambda problem: 2 * 2 * problem.shape["G"] * _elements(problem),
    traffic_bytes=_traffic_bytes,
    constants=_constants,
)
