"""Matrix product for GPUs that copy whole blocks: tensor descriptors, and programs that stay."""

from __future__ import annotations

from dataclasses import replace

import triton
import triton.language as tl

from foundation.config import Config
from kernels.matmul import SPEC as MATMUL
from kernels.spec import Grid, Problem
from kernels.values import described
from launchers.arguments import Argument

__all__ = ["SPEC"]

# The strides that the descriptors have, and those that are 1.
_DESCRIBED = {"stride_am", "stride_ak", "stride_bk", "stride_bn", "stride_cn"}
_ARGUMENTS, _TILES = MATMUL.arguments, MATMUL.grid


@triton.jit
def _multiply_tile(
    a,
    b,
    c_ptr,
    tile,
    M,
    N,
    K,
    stride_cm,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
):
    """One tile of C: GROUP_SIZE_M rows of tiles are walked column by column."""
    tiles_of_group = GROUP_SIZE_M * tl.cdiv(N, BLOCK_SIZE_N)
    first_m = tile // tiles_of_group * GROUP_SIZE_M
    group_rows = min(tl.cdiv(M, BLOCK_SIZE_M) - first_m, GROUP_SIZE_M)
    row = (first_m + tile % tiles_of_group % group_rows) * BLOCK_SIZE_M
    column = tile % tiles_of_group // group_rows * BLOCK_SIZE_N

    total_type: tl.constexpr = tl.int32 if a.dtype.is_int() else tl.float32
    total = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=total_type)
    for step in range(tl.cdiv(K, BLOCK_SIZE_K)):
        depth = step * BLOCK_SIZE_K
        a_block, b_block = a.load([row, depth]), b.load([depth, column])
        total = tl.dot(a_block, b_block, total, input_precision="ieee", out_dtype=total_type)

    rows = row + tl.arange(0, BLOCK_SIZE_M)
    columns = column + tl.arange(0, BLOCK_SIZE_N)
    c_ptrs = c_ptr + rows[:, None] * stride_cm + columns[None, :]
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptrs, total.to(c_ptr.dtype.element_ty), mask=mask)


@triton.jit
def persistent_matmul_kernel(
    a,
    b,
    c_ptr,
    M,
    N,
    K,
    stride_cm,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
    NUM_PROGRAMS: tl.constexpr,
):
    """C = A @ B, whose rows are contiguous; int8 is added up in int32.

    a, b: tensor descriptors that the host makes, whose blocks are BLOCK_SIZE_M x BLOCK_SIZE_K and
    BLOCK_SIZE_K x BLOCK_SIZE_N. They give zeros outside of a matrix. Made in the kernel, they would
    cost each launch a microsecond or two on an H200. On GPUs of NVIDIA, their rows start at
    multiples of 16 bytes.

    Each of NUM_PROGRAMS programs takes every NUM_PROGRAMS-th tile, so that the loads of its next
    tile overlap with the stores of its last one; with NUM_PROGRAMS 0, each tile has a program.
    """
    first = tl.program_id(axis=0)
    if NUM_PROGRAMS == 0:
        _multiply_tile(
            a,
            b,
            c_ptr,
            first,
            M,
            N,
            K,
            stride_cm,
            BLOCK_SIZE_M,
            BLOCK_SIZE_N,
            BLOCK_SIZE_K,
            GROUP_SIZE_M,
        )
    else:
        tiles = tl.cdiv(M, BLOCK_SIZE_M) * tl.cdiv(N, BLOCK_SIZE_N)
        for tile in tl.range(first, tiles, NUM_PROGRAMS, flatten=True):
            _multiply_tile(
                a,
                b,
                c_ptr,
                tile,
                M,
                N,
                K,
                stride_cm,
                BLOCK_SIZE_M,
                BLOCK_SIZE_N,
                BLOCK_SIZE_K,
                GROUP_SIZE_M,
            )


def _arguments(problem: Problem, config: Config) -> tuple[Argument, ...]:
    """Those of the plain product, with A and B described, and without what describes them."""
    a, b, *others = _ARGUMENTS(problem, config)
    kept = (argument for argument in others if argument.name not in _DESCRIBED)
    return (described(a, "a"), described(b, "b"), *kept)


def _blocks(problem: Problem, config: Config) -> dict[str, tuple[int, ...]]:
    m, n, k = (int(config[f"BLOCK_SIZE_{name}"]) for name in "MNK")
    return {"a": (m, k), "b": (k, n)}


def _grid(problem: Problem, config: Config) -> Grid:
    tiles, *_ = _TILES(problem, config)
    return (min(tiles, int(config.get("NUM_PROGRAMS", 0)) or tiles), 1, 1)


SPEC = replace(
    MATMUL,
    name="persistent_matmul",
    kernel=persistent_matmul_kernel,
    default_shape={"M": 128, "N": 128, "K": 128},
    arguments=_arguments,
    grid=_grid,
    constants={"NUM_PROGRAMS": 0},
    blocks=_blocks,
)
