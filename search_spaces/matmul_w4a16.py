"""Search space of the product of activations in floating point with 4-bit weights."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from search_spaces.packed_weights import tiles_of_packed_weights
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Blocks of BLOCK_SIZE_M rows; weights are packed in tiles of BLOCK_SIZE_N columns."""
    return tiles_of_packed_weights(problem, board)
