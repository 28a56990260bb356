"""Search space of the quantisation of activations."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.blocks import parameters, pruned
from search_spaces.packed_weights import GROUP
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """BLOCK_SIZE_G groups of a row."""
    groups = -(-problem.shape["K"] // GROUP)
    tuned = parameters(BLOCK_SIZE_G=rules.powers_of_two(1, 64))
    return pruned(
        problem, tuned, [rules.block_within_problem("BLOCK_SIZE_G", "groups", groups, at_least=1)]
    )
