"""The search space of the product with scales as vLLM's kernel takes it: no split sums."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.blocks import parameters
from search_spaces.gemm_a8w8_blockscale import SCALED_ELEMENTS
from search_spaces.gpu.gemm_a8w8_blockscale import COLUMN_MAJOR, DEFAULT, programs
from search_spaces.gpu.options import gpu_of, launch_options
from search_spaces.gpu.products import product_rules, product_space
from search_spaces.problem import Problem
from search_spaces.space import Parameter, SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """What a file for vLLM can hold: blocks, groups, num_warps and num_stages."""
    gpu = gpu_of(board)
    blocks = parameters(
        BLOCK_SIZE_M=rules.powers_of_two(16, 256),
        BLOCK_SIZE_N=rules.powers_of_two(32, SCALED_ELEMENTS),
        BLOCK_SIZE_K=(SCALED_ELEMENTS,),
        GROUP_SIZE_M=(1, 16, 32, 64),
        NUM_KSPLIT=(1,),
    )
    loads = Parameter("cache_modifier", ("",))
    options = launch_options(gpu, warps=(4, 8), stages=(2, 3, 4, 5))
    tuned = (*blocks, loads, COLUMN_MAJOR, *options)
    pruning = product_rules(problem, gpu, tuned, lambda config: programs(problem, config))
    return product_space(gpu, tuned, DEFAULT, pruning)
