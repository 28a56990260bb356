"""Search space of warping an image on a GPU."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from search_spaces.gpu.tiles import IMAGE, ROW_OF_IMAGE, tile_space
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Tiles of BLOCK_SIZE_H x BLOCK_SIZE_W pixels."""
    return tile_space(problem, board, IMAGE, ROW_OF_IMAGE, gathered=True)
