"""Search space of a sweep of Jacobi's method on a GPU."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from search_spaces.gpu.tiles import PLANE, tile_space
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Tiles of BLOCK_SIZE_M x BLOCK_SIZE_N points."""
    return tile_space(problem, board, PLANE, {"BLOCK_SIZE_M": 1, "BLOCK_SIZE_N": 1024})
