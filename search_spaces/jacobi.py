"""Search space of a sweep of Jacobi's method."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.blocks import elements_of, parameters, pruned, row_rules
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Tiles of BLOCK_SIZE_M x BLOCK_SIZE_N points."""
    m, n = problem.shape["M"], problem.shape["N"]
    tuned = parameters(
        BLOCK_SIZE_M=rules.powers_of_two(1, 64),
        BLOCK_SIZE_N=rules.powers_of_two(4, 1024),
    )
    pruning = row_rules(
        board,
        rows={"BLOCK_SIZE_M": ("M", m)},
        columns={"BLOCK_SIZE_N": ("N", n)},
        working_set=elements_of("BLOCK_SIZE_M", "BLOCK_SIZE_N", copies=3),
    )
    return pruned(problem, tuned, pruning)
