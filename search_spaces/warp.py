"""Search space of warping an image."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from search_spaces.blocks import image_tiles
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Tiles of BLOCK_SIZE_H x BLOCK_SIZE_W pixels."""
    return image_tiles(problem, board, blocks=4)
