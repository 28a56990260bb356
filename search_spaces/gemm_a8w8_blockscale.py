"""Search space of the product of 8-bit matrices with scales."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.blocks import parameters, product_operands, product_rules, pruned
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["SCALED_ELEMENTS", "space"]

# Elements of K, and columns of the weights, that share a scale.
SCALED_ELEMENTS = 128


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Blocks no longer than the SCALED_ELEMENTS that share a scale."""
    tuned = parameters(
        BLOCK_SIZE_M=rules.powers_of_two(1, 128),
        BLOCK_SIZE_N=rules.powers_of_two(4, SCALED_ELEMENTS),
        BLOCK_SIZE_K=rules.powers_of_two(4, SCALED_ELEMENTS),
        GROUP_SIZE_M=(1, 2, 4, 8),
    )
    pruning = product_rules(problem, board, product_operands, grouped=True)
    return pruned(problem, tuned, pruning)
