"""Search space of a mixture of experts on a GPU."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.blocks import parameters
from search_spaces.gpu.options import gpu_of, product_options
from search_spaces.gpu.products import default_blocks, product_rules, product_space, tiles
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Blocks of one expert's rows; its tokens are padded to a multiple of BLOCK_SIZE_M."""
    gpu, experts = gpu_of(board), problem.shape["E"]
    blocks = parameters(
        BLOCK_SIZE_M=rules.powers_of_two(16, 256),
        BLOCK_SIZE_N=rules.powers_of_two(32, 256),
        BLOCK_SIZE_K=rules.powers_of_two(32, 256),
        GROUP_SIZE_M=(1, 16, 32, 64),
    )
    tuned = blocks + product_options(gpu, warps=(4, 8), stages=(2, 3, 4, 5))
    # Each expert has tiles of its own, up to one that is hardly filled.
    pruning = product_rules(problem, gpu, tuned, lambda config: experts * tiles(problem, config))
    default = {**default_blocks(problem), "BLOCK_SIZE_M": 16 if problem.shape["M"] <= 64 else 64}
    return product_space(gpu, tuned, {**default, "GROUP_SIZE_M": 1}, pruning)
