"""Product of 8-bit matrices with a scale for each 128 elements of K, as in AITER's kernel.

The scheme is from DeepSeek-V3 (arXiv 2412.19437, 3.3.2): activations have a scale per 128 elements
of a row, weights a scale per square of 128 by 128.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from foundation.config import Config
from kernels.references.products import factor
from kernels.spec import Grid, KernelSpec, Problem
from kernels.values import (
    TORCH_TYPES,
    Tolerance,
    for_gpu,
    input_array,
    output_array,
    seeded_normal,
    size_bytes,
    sizes,
    unit_roundoff,
)
from launchers.arguments import Argument
from search_spaces.gemm_a8w8_blockscale import SCALED_ELEMENTS

__all__ = ["SPEC"]


@triton.jit
def _tile(tiles_m, tiles_n, GROUP_SIZE_M: tl.constexpr):
    """Row and column of this program's tile: GROUP_SIZE_M rows are walked column by column."""
    tile = tl.program_id(axis=0)
    group = tile // (GROUP_SIZE_M * tiles_n)
    first_m = group * GROUP_SIZE_M
    group_rows = min(tiles_m - first_m, GROUP_SIZE_M)
    within = tile - group * GROUP_SIZE_M * tiles_n
    return first_m + within % group_rows, within // group_rows


@triton.jit
def _load_blocks(a_ptrs, b_ptrs, a_inside, b_inside, depth, end, cache_modifier: tl.constexpr):
    """The blocks of A and B of one step of K; B's loads take the cache modifier."""
    inside = depth < end
    a = tl.load(a_ptrs, mask=a_inside[:, None] & inside[None, :], other=0.0)
    b_mask = inside[:, None] & b_inside[None, :]
    return a, tl.load(b_ptrs, mask=b_mask, other=0.0, cache_modifier=cache_modifier)


@triton.jit
def _scales(a_scale_ptrs, b_scale_ptr, at, stride_b_scale_k, in_m):
    """The factors of this step of K, one for each row."""
    a_scale = tl.load(a_scale_ptrs + at, mask=in_m, other=0.0)
    return a_scale * tl.load(b_scale_ptr + at * stride_b_scale_k)


@triton.jit
def _is_last_of_tile(partials_ptr, arrivals_ptr, c_at, c_mask, size, total, PARTS: tl.constexpr):
    """Keep this program's part of a tile; whether all other parts are there.

    partials: (PARTS, size). The last program sets the tile's counter back to 0.
    """
    tl.store(partials_ptr + tl.program_id(axis=1) * size + c_at, total, mask=c_mask)
    tl.debug_barrier()  # every thread has stored before one of them counts the program
    counter = arrivals_ptr + tl.program_id(axis=0)
    is_last = tl.atomic_add(counter, 1, sem="acq_rel") == PARTS - 1
    if is_last:
        tl.store(counter, 0)
    return is_last


@triton.jit
def _store(c_ptr, partials_ptr, arrivals_ptr, c_at, c_mask, size, total, PARTS: tl.constexpr):
    """Store a tile; of PARTS programs that share it, the last to arrive adds the parts up."""
    if PARTS == 1:
        tl.store(c_ptr + c_at, total.to(c_ptr.dtype.element_ty), mask=c_mask)
    elif _is_last_of_tile(partials_ptr, arrivals_ptr, c_at, c_mask, size, total, PARTS):
        total = tl.zeros(total.shape, dtype=tl.float32)
        for part in tl.static_range(PARTS):
            # Other programs' stores lie in L2, which .cg reads.
            part_ptrs = partials_ptr + part * size + c_at
            total += tl.load(part_ptrs, mask=c_mask, other=0.0, cache_modifier=".cg")
        tl.store(c_ptr + c_at, total.to(c_ptr.dtype.element_ty), mask=c_mask)


@triton.jit
def gemm_a8w8_blockscale_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    a_scale_ptr,
    b_scale_ptr,
    partials_ptr,
    arrivals_ptr,
    M,
    N,
    K,
    stride_am,
    stride_b,
    stride_cm,
    stride_a_scale_m,
    stride_b_scale_k,
    SCALED: tl.constexpr,
    B_COLUMN_MAJOR: tl.constexpr,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
    NUM_KSPLIT: tl.constexpr,
    cache_modifier: tl.constexpr,
):
    """C[m, n] = sum over k of A[m, k] * B[k, n] * a_scale[m, k / SCALED] * b_scale[.., n / SCALED].

    A tile lies within one column of b_scale, and a step of K within one scale of both: SCALED is a
    multiple of BLOCK_SIZE_N and of BLOCK_SIZE_K. NUM_KSPLIT programs share a tile along y: each
    takes a run of scales and keeps its part in `partials`; the last to arrive adds the parts up and
    sets the tile's counter in `arrivals` back to 0. Elements of a row are contiguous, and so are
    those of a column of B if it is column-major; `stride_b` leads to the next row, or column.
    """
    tl.static_assert(SCALED % BLOCK_SIZE_N == 0 and SCALED % BLOCK_SIZE_K == 0)
    tile_m, tile_n = _tile(tl.cdiv(M, BLOCK_SIZE_M), tl.cdiv(N, BLOCK_SIZE_N), GROUP_SIZE_M)
    first_column = tile_n * BLOCK_SIZE_N
    first_scale, end_scale = 0, tl.cdiv(K, SCALED)
    last_scale = end_scale - 1
    if NUM_KSPLIT > 1:
        run = tl.cdiv(end_scale, NUM_KSPLIT)
        first_scale = tl.program_id(axis=1) * run
        end_scale = min(first_scale + run, end_scale)

    rows = tile_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    columns = first_column + tl.arange(0, BLOCK_SIZE_N)
    in_m, in_n = rows < M, columns < N
    depth = tl.arange(0, BLOCK_SIZE_K)
    a_ptrs = a_ptr + rows[:, None] * stride_am + (first_scale * SCALED + depth)[None, :]
    if B_COLUMN_MAJOR:
        b_ptrs = b_ptr + (first_scale * SCALED + depth)[:, None] + columns[None, :] * stride_b
        b_step = BLOCK_SIZE_K
    else:
        b_ptrs = b_ptr + (first_scale * SCALED + depth)[:, None] * stride_b + columns[None, :]
        b_step = BLOCK_SIZE_K * stride_b
    a_scale_ptrs = a_scale_ptr + rows * stride_a_scale_m
    b_scale_column = b_scale_ptr + first_column // SCALED

    part_type: tl.constexpr = tl.int32 if a_ptr.dtype.element_ty.is_int() else tl.float32
    total = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    # A GPU's compiler overlaps the loads of blocks with products, and not those of scales. Programs
    # with a part of K load scales a step ahead; the others, with more to do, need the registers.
    AHEAD: tl.constexpr = NUM_KSPLIT > 1
    if AHEAD:
        at = min(first_scale, last_scale)  # a part may be empty
        next_scales = _scales(a_scale_ptrs, b_scale_column, at, stride_b_scale_k, in_m)
    for scaled in range(first_scale, end_scale):
        if AHEAD:
            scales, at = next_scales, min(scaled + 1, last_scale)
            next_scales = _scales(a_scale_ptrs, b_scale_column, at, stride_b_scale_k, in_m)
        if BLOCK_SIZE_K == SCALED:
            # One loop, whose loads a GPU's compiler overlaps with products.
            end = K - scaled * SCALED
            a, b = _load_blocks(a_ptrs, b_ptrs, in_m, in_n, depth, end, cache_modifier)
            part = tl.dot(a, b, out_dtype=part_type)
            a_ptrs += BLOCK_SIZE_K
            b_ptrs += b_step
        else:
            part = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=part_type)
            for first in range(scaled * SCALED, min((scaled + 1) * SCALED, K), BLOCK_SIZE_K):
                a, b = _load_blocks(a_ptrs, b_ptrs, in_m, in_n, depth, K - first, cache_modifier)
                part = tl.dot(a, b, part, out_dtype=part_type)
                a_ptrs += BLOCK_SIZE_K
                b_ptrs += b_step
        if not AHEAD:
            scales = _scales(a_scale_ptrs, b_scale_column, scaled, stride_b_scale_k, in_m)
        total += part.to(tl.float32) * scales[:, None]

    c_at = rows[:, None] * stride_cm + columns[None, :]
    c_mask = in_m[:, None] & in_n[None, :]
    _store(c_ptr, partials_ptr, arrivals_ptr, c_at, c_mask, M * N, total, NUM_KSPLIT)


def _arguments(problem: Problem, config: Config) -> tuple[Argument, ...]:
    m, n, k = (problem.shape[name] for name in "MNK")
    scales_k, scales_n = -(-k // SCALED_ELEMENTS), -(-n // SCALED_ELEMENTS)
    a, b = factor(problem.dtype, (m, k), seed=0), factor(problem.dtype, (k, n), seed=1)
    column_major, splits = bool(config.get("B_COLUMN_MAJOR")), int(config.get("NUM_KSPLIT", 1))
    # Positive scales that bring the elements back to about unit size.
    size = 1 / a.double().square().mean().sqrt().float()
    a_scale = (0.5 + seeded_normal((m, scales_k), seed=2).abs()) * size
    b_scale = (0.5 + seeded_normal((scales_k, scales_n), seed=3).abs()) * size
    expected = torch.matmul(
        a.double() * _spread(a_scale, 1)[:, :k],
        b.double() * _spread(_spread(b_scale, 0), 1)[:k, :n],
    ).to(TORCH_TYPES[_output_dtype(problem)])
    # The scales on each side go up to about 4. fp32 sums are accurate to 4e-6, but Hopper's tensor
    # cores add 8-bit floats with 13 bits after the point (DeepSeek-V3, 3.5.2).
    each = 2**-13 if for_gpu() and problem.dtype != "i8" else 4e-6
    roundoff = unit_roundoff(_output_dtype(problem))
    tolerance = Tolerance(atol=each * 16 * k**0.5, rtol=max(1e-5, 2 * roundoff))
    partials = torch.zeros((splits, m, n) if splits > 1 else (1,))
    arrivals = torch.zeros(_grid(problem, config)[0], dtype=torch.int32)
    return (
        input_array("a_ptr", a),
        input_array("b_ptr", b.T.contiguous() if column_major else b),
        output_array("c_ptr", expected, tolerance),
        input_array("a_scale_ptr", a_scale),
        input_array("b_scale_ptr", b_scale),
        input_array("partials_ptr", partials),
        output_array("arrivals_ptr", arrivals, start=arrivals),
        *sizes(M=m, N=n, K=k),
        *sizes(stride_am=k, stride_b=k if column_major else n, stride_cm=n),
        *sizes(stride_a_scale_m=scales_k, stride_b_scale_k=scales_n),
    )


def _spread(scales: torch.Tensor, axis: int) -> torch.Tensor:
    """Each scale repeated for every element that it scales."""
    return scales.double().repeat_interleave(SCALED_ELEMENTS, dim=axis)


def _grid(problem: Problem, config: Config) -> Grid:
    rows = triton.cdiv(problem.shape["M"], int(config["BLOCK_SIZE_M"]))
    columns = triton.cdiv(problem.shape["N"], int(config["BLOCK_SIZE_N"]))
    return (rows * columns, int(config.get("NUM_KSPLIT", 1)), 1)


def _output_dtype(problem: Problem) -> str:
    return problem.outputs.dtype or "bf16"


def _traffic_bytes(problem: Problem) -> float:
    """Bytes without the parts of split sums, whose number depends on the configuration."""
    m, n, k = (problem.shape[name] for name in "MNK")
    scales_k, scales_n = -(-k // SCALED_ELEMENTS), -(-n // SCALED_ELEMENTS)
    scales = size_bytes("fp32") * scales_k * (m + scales_n)
    output = size_bytes(_output_dtype(problem)) * m * n
    return size_bytes(problem.dtype) * (m * k + k * n) + scales + output


SPEC = KernelSpec(
    name="gemm_a8w8_blockscale",
    kernel=gemm_a8w8_blockscale_kernel,
    default_shape={"M": 32, "N": 256, "K": 512},
    default_config=Config(
        {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 16, "BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 1}
    ),
    dtypes=("i8", "fp8e4nv", "fp8e5"),
    output_dtypes=dict.fromkeys(("i8", "fp8e4nv", "fp8e5"), ("bf16", "fp16", "fp32")),
    arguments=_arguments,
    grid=_grid,
    flops=lambda problem: 2 * problem.shape["M"] * problem.shape["N"] * problem.shape["K"],
    traffic_bytes=_traffic_bytes,
    constants={
        "SCALED": SCALED_ELEMENTS,
        "B_COLUMN_MAJOR": False,
        "NUM_KSPLIT": 1,
        "cache_modifier": "",
    },
)
