"""Search space of a softmax over rows on a GPU."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.gpu.rows import row_space
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Blocks of BLOCK_SIZE_M whole rows; BLOCK_SIZE_N covers a row and is not tuned."""
    row = rules.next_power_of_two(problem.shape["N"])
    return row_space(problem, board, (row,), {"BLOCK_SIZE_M": 1})
