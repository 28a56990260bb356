"""Search space of a matrix product that splits its sums."""

from __future__ import annotations

from dataclasses import replace

from rvv_runner.board import BoardInfo
from search_spaces import gemm_rules, rules
from search_spaces.blocks import parameters, product_operands, product_rules, pruned, size_of
from search_spaces.problem import Problem
from search_spaces.space import Rule, SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Blocks as in a plain product, and SPLIT_K parts with at least one block of K each.

    If tune_gemm rules splitting out, it is only tried later: docs/spaces.md has the measurements.
    """
    m, n, k = (problem.shape[name] for name in "MNK")
    tuned = parameters(
        BLOCK_SIZE_M=rules.powers_of_two(1, 128),
        BLOCK_SIZE_N=rules.powers_of_two(4, 512),
        BLOCK_SIZE_K=rules.powers_of_two(1, 512),
        SPLIT_K=(1, 2, 4, 8, 16),
    )
    every_part_has_work = Rule(
        "every-part-has-work",
        f"SPLIT_K parts of whole blocks of BLOCK_SIZE_K are more than K = {k} has",
        lambda config: size_of(config, "SPLIT_K") <= -(-k // size_of(config, "BLOCK_SIZE_K")),
    )
    pruning = product_rules(problem, board, product_operands)
    seldom = replace(gemm_rules.split_k_only_where_needed(m, n, k), soft=True)
    return pruned(problem, tuned, [*pruning, every_part_has_work, seldom])
