"""Search space of the matrix product."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.blocks import parameters, product_operands, product_rules, pruned
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Blocks of C of BLOCK_SIZE_M x BLOCK_SIZE_N, accumulated in steps of BLOCK_SIZE_K."""
    tuned = parameters(
        BLOCK_SIZE_M=rules.powers_of_two(1, 256),
        BLOCK_SIZE_N=rules.powers_of_two(4, 512),
        BLOCK_SIZE_K=rules.powers_of_two(1, 256),
        GROUP_SIZE_M=(1, 2, 4, 8, 16),
    )
    pruning = product_rules(problem, board, product_operands, grouped=True)
    return pruned(problem, tuned, pruning)
