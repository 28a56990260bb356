"""Search space of a mixture of experts."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.blocks import parameters, product_operands, product_rules, pruned
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Blocks of one expert's rows; its tokens are padded to a multiple of BLOCK_SIZE_M."""
    tuned = parameters(
        BLOCK_SIZE_M=rules.powers_of_two(4, 64),
        BLOCK_SIZE_N=rules.powers_of_two(4, 512),
        BLOCK_SIZE_K=rules.powers_of_two(4, 256),
        GROUP_SIZE_M=(1, 2, 4, 8),
    )
    pruning = product_rules(problem, board, product_operands, grouped=True, least_m=4)
    return pruned(problem, tuned, pruning)
