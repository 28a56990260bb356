"""Search space of products of many pairs of matrices."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.blocks import parameters, product_operands, product_rules, pruned
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Blocks as in one product; the products are independent."""
    tuned = parameters(
        BLOCK_SIZE_M=rules.powers_of_two(1, 256),
        BLOCK_SIZE_N=rules.powers_of_two(4, 512),
        BLOCK_SIZE_K=rules.powers_of_two(1, 256),
    )
    return pruned(problem, tuned, product_rules(problem, board, product_operands))
