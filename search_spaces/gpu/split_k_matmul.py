"""Search space of a matrix product that splits its sums, on a GPU."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.blocks import parameters, size_of
from search_spaces.gpu.options import gpu_of, product_options
from search_spaces.gpu.products import default_blocks, product_rules, product_space, tiles
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Blocks as in a plain product, and SPLIT_K parts with at least one block of K each."""
    gpu, k = gpu_of(board), problem.shape["K"]
    blocks = parameters(
        BLOCK_SIZE_M=rules.powers_of_two(16, 256),
        BLOCK_SIZE_N=rules.powers_of_two(16, 256),
        BLOCK_SIZE_K=rules.powers_of_two(32, 128),
        GROUP_SIZE_M=(1, 8),
        SPLIT_K=(1, 2, 4, 8, 16),
    )
    tuned = blocks + product_options(gpu, stages=(1, 2, 3, 4, 5, 6))
    pruning = product_rules(
        problem,
        gpu,
        tuned,
        lambda config: tiles(problem, config) * size_of(config, "SPLIT_K"),
    )
    pruning.append(rules.every_part_has_work("SPLIT_K", "BLOCK_SIZE_K", k))
    return product_space(gpu, tuned, {**default_blocks(problem), "GROUP_SIZE_M": 8}, pruning)
