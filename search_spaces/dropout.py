"""Search space of dropout."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.blocks import elements_of, parameters, pruned, row_rules
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Blocks of BLOCK_SIZE elements."""
    tuned = parameters(BLOCK_SIZE=rules.powers_of_two(4, 65536))
    pruning = row_rules(
        board,
        rows={},
        columns={"BLOCK_SIZE": ("N", problem.shape["N"])},
        working_set=elements_of("BLOCK_SIZE", copies=2),
    )
    return pruned(problem, tuned, pruning)
