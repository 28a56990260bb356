"""Search space of the matrix product on a GPU."""

from __future__ import annotations

from functools import partial

from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.blocks import parameters
from search_spaces.gpu.options import gpu_of, product_options
from search_spaces.gpu.products import default_blocks, product_rules, product_space, tiles
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Blocks of C of BLOCK_SIZE_M x BLOCK_SIZE_N, accumulated in steps of BLOCK_SIZE_K."""
    gpu = gpu_of(board)
    blocks = parameters(
        BLOCK_SIZE_M=rules.powers_of_two(16, 256),
        BLOCK_SIZE_N=rules.powers_of_two(16, 256),
        BLOCK_SIZE_K=rules.powers_of_two(32, 128),
        GROUP_SIZE_M=(1, 8),
    )
    tuned = blocks + product_options(gpu, stages=(1, 2, 3, 4, 5, 6))
    pruning = product_rules(problem, gpu, tuned, partial(tiles, problem))
    return product_space(gpu, tuned, {**default_blocks(problem), "GROUP_SIZE_M": 8}, pruning)
