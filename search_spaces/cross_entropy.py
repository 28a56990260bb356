"""Search space of the cross entropy of rows of logits."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.blocks import chunks_of_rows, elements_of, parameters, pruned, row_rules
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """BLOCK_SIZE_M rows, BLOCK_SIZE_N of their columns at a time."""
    m, n = problem.shape["M"], problem.shape["N"]
    tuned = parameters(
        BLOCK_SIZE_M=rules.powers_of_two(1, 32),
        BLOCK_SIZE_N=chunks_of_rows(n),
    )
    pruning = row_rules(
        board,
        rows={"BLOCK_SIZE_M": ("M", m)},
        columns={"BLOCK_SIZE_N": ("N", n)},
        working_set=elements_of("BLOCK_SIZE_M", "BLOCK_SIZE_N", copies=2),
    )
    return pruned(problem, tuned, pruning)
