"""Search space of the rotary position embedding."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.blocks import elements_of, parameters, pruned, row_rules, size_of
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """BLOCK_SIZE_M tokens, BLOCK_SIZE_H heads at a time; BLOCK_SIZE_D covers half a head."""
    tokens, heads = problem.shape["TOKENS"], problem.shape["HEADS"]
    tuned = parameters(
        BLOCK_SIZE_M=rules.powers_of_two(1, 64),
        BLOCK_SIZE_H=rules.powers_of_two(1, 64),
        BLOCK_SIZE_D=(size_of(problem.default_config, "BLOCK_SIZE_D"),),
    )
    pruning = row_rules(
        board,
        rows={"BLOCK_SIZE_M": ("TOKENS", tokens), "BLOCK_SIZE_H": ("HEADS", heads)},
        columns={},
        working_set=elements_of("BLOCK_SIZE_H", "BLOCK_SIZE_D", copies=4),
    )
    return pruned(problem, tuned, pruning)
