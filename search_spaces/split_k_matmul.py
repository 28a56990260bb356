"""Search space of a matrix product that splits its sums."""

from __future__ import annotations

from dataclasses import replace

from rvv_runner.board import BoardInfo
from search_spaces import gemm_rules, rules
from search_spaces.blocks import parameters, product_operands, product_rules, pruned
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Blocks as in a plain product, and SPLIT_K parts with at least one block of K each.

    If tune_gemm rules splitting out, it is only tried later: docs/reference/spaces.md has the
    measurements.
    """
    m, n, k = (problem.shape[name] for name in "MNK")
    tuned = parameters(
        BLOCK_SIZE_M=rules.powers_of_two(1, 128),
        BLOCK_SIZE_N=rules.powers_of_two(4, 512),
        BLOCK_SIZE_K=rules.powers_of_two(1, 512),
        SPLIT_K=(1, 2, 4, 8, 16),
    )
    pruning = product_rules(problem, board, product_operands)
    every_part = rules.every_part_has_work("SPLIT_K", "BLOCK_SIZE_K", k)
    seldom = replace(gemm_rules.split_k_only_where_needed(m, n, k), soft=True)
    return pruned(problem, tuned, [*pruning, every_part, seldom])
