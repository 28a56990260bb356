"""Search space of the correlation of two feature maps."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.blocks import elements_of, parameters, pruned, row_rules
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """BLOCK_SIZE_D displacements of tiles of BLOCK_SIZE_H x BLOCK_SIZE_W pixels."""
    tuned = parameters(
        BLOCK_SIZE_D=rules.powers_of_two(1, 16),
        BLOCK_SIZE_H=rules.powers_of_two(1, 32),
        BLOCK_SIZE_W=rules.powers_of_two(4, 512),
    )
    pruning = row_rules(
        board,
        rows={
            "BLOCK_SIZE_D": ("D", problem.shape["D"]),
            "BLOCK_SIZE_H": ("H", problem.shape["H"]),
        },
        columns={"BLOCK_SIZE_W": ("W", problem.shape["W"])},
        working_set=elements_of("BLOCK_SIZE_D", "BLOCK_SIZE_H", "BLOCK_SIZE_W", copies=3),
    )
    return pruned(problem, tuned, pruning)
