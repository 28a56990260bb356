"""Search space of attention that does not store the matrix of scores."""

from __future__ import annotations

from foundation.config import Config
from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.blocks import parameters, pruned, row_rules, size_of
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space", "working_set"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """BLOCK_SIZE_M queries times BLOCK_SIZE_N keys; BLOCK_SIZE_DMODEL covers a head."""
    sizes = problem.shape
    tuned = parameters(
        BLOCK_SIZE_M=rules.powers_of_two(4, 64),
        BLOCK_SIZE_N=rules.powers_of_two(8, 64),
        BLOCK_SIZE_DMODEL=(rules.next_power_of_two(sizes["D_HEAD"]),),
    )
    pruning = row_rules(
        board,
        rows={"BLOCK_SIZE_M": ("N_CTX", sizes["N_CTX"])},
        columns={"BLOCK_SIZE_N": ("N_CTX", sizes["N_CTX"])},
        working_set=working_set,
    )
    return pruned(problem, tuned, pruning)


def working_set(config: Config) -> int:
    """Elements of the blocks of queries, keys, values, scores, weights and result."""
    queries, keys = size_of(config, "BLOCK_SIZE_M"), size_of(config, "BLOCK_SIZE_N")
    return 2 * (queries + keys) * size_of(config, "BLOCK_SIZE_DMODEL") + 2 * queries * keys
