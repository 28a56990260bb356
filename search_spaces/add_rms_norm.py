"""Search space of RMS normalisation with a residual."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from search_spaces.blocks import chunked_rows
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """BLOCK_SIZE_M rows, BLOCK_SIZE_N of their columns at a time."""
    return chunked_rows(problem, board, blocks=3)
