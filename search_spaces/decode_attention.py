"""Search space of the attention of one new token over a cache."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.blocks import parameters, pruned
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """BLOCK_SIZE_N keys a step; SPLITS programs share the cache of a head.

    A block covers the query heads of a head of the cache, and BLOCK_SIZE_DMODEL a head's elements.
    """
    keys = problem.shape["N_CTX"]
    tuned = parameters(
        BLOCK_SIZE_M=(rules.next_power_of_two(problem.shape["G"]),),
        BLOCK_SIZE_N=rules.powers_of_two(8, 256),
        BLOCK_SIZE_DMODEL=(rules.next_power_of_two(problem.shape["D_HEAD"]),),
        SPLITS=rules.powers_of_two(1, 16),
    )
    pruning = [
        rules.block_within_problem("BLOCK_SIZE_N", "N_CTX", keys, at_least=8),
        rules.every_part_has_work("SPLITS", "BLOCK_SIZE_N", keys, "N_CTX"),
    ]
    return pruned(problem, tuned, pruning)
