"""Search space of the gradients of layer normalisation."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.blocks import elements_of, parameters, pruned, row_rules
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """ROW_BLOCKS blocks of BLOCK_SIZE_M whole rows; BLOCK_SIZE_N covers a row and is not tuned."""
    m, n = problem.shape["M"], problem.shape["N"]
    tuned = parameters(
        BLOCK_SIZE_M=rules.powers_of_two(1, 16),
        BLOCK_SIZE_N=(rules.next_power_of_two(n),),
        ROW_BLOCKS=rules.powers_of_two(1, 64),
    )
    pruning = row_rules(
        board,
        rows={"BLOCK_SIZE_M": ("M", m)},
        columns={},
        working_set=elements_of("BLOCK_SIZE_M", "BLOCK_SIZE_N", copies=5),
    )
    return pruned(problem, tuned, [*pruning, rules.row_blocks_within(m)])
