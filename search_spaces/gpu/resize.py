"""Search space of doubling an image on a GPU."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from search_spaces.gpu.tiles import IMAGE, tile_space
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Tiles of BLOCK_SIZE_H x BLOCK_SIZE_W pixels."""
    default = {"BLOCK_SIZE_H": 1, "BLOCK_SIZE_W": 1024}
    return tile_space(problem, board, IMAGE, default, layers=problem.shape["C"])
