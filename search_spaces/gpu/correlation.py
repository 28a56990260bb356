"""Search space of the correlation of two feature maps on a GPU."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.gpu.tiles import IMAGE, ROW_OF_IMAGE, Side, tile_space
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """BLOCK_SIZE_D displacements of tiles of BLOCK_SIZE_H x BLOCK_SIZE_W pixels."""
    sides = (Side("BLOCK_SIZE_D", "D", rules.powers_of_two(1, 16)), *IMAGE)
    return tile_space(problem, board, sides, {"BLOCK_SIZE_D": 1, **ROW_OF_IMAGE})
