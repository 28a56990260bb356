"""What products with packed 4-bit weights share: where a program's weights lie, and its grid."""

from __future__ import annotations

import triton
import triton.language as tl

from foundation.config import Config
from kernels.references.packed_weights import GROUP, TILE, groups_of, tiled_columns
from kernels.spec import Grid, Problem
from kernels.values import size_bytes

__all__ = ["HALF", "ROW", "columns_at", "grid", "weights_bytes"]

# The bytes of a group in a column: each holds a weight of its first half and one of its second.
HALF = tl.constexpr(GROUP // 2)
# Bytes, and scales, from one row of a tile to the next.
ROW = tl.constexpr(TILE)


@triton.jit
def columns_at(w_ptr, w_scale_ptr, first, groups):
    """Where the weights and the scales of the columns from `first` on begin, within one tile."""
    tile = first // ROW
    within = first - tile * ROW
    scales = tile * groups * ROW + within
    return w_ptr + tile * groups * HALF * ROW + within, w_scale_ptr + scales


def grid(problem: Problem, config: Config) -> Grid:
    """A program for BLOCK_SIZE_N columns and BLOCK_SIZE_M rows of the result."""
    columns = triton.cdiv(problem.shape["N"], int(config["BLOCK_SIZE_N"]))
    return (columns, triton.cdiv(problem.shape["M"], int(config["BLOCK_SIZE_M"])), 1)


def weights_bytes(problem: Problem) -> float:
    """Bytes of the weights with their scales."""
    columns = tiled_columns(problem.shape["N"])
    return groups_of(problem.shape["K"]) * columns * (GROUP // 2 + size_bytes("fp16"))
