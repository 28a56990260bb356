"""Search space of the product of 8-bit matrices with scales on a GPU."""

from __future__ import annotations

from foundation.config import Config, ParameterValue
from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.blocks import parameters, size_of
from search_spaces.gemm_a8w8_blockscale import SCALED_ELEMENTS
from search_spaces.gpu.options import gpu_of, product_options
from search_spaces.gpu.products import product_rules, product_space, tiles
from search_spaces.problem import Problem
from search_spaces.space import Parameter, Rule, SearchSpace

__all__ = ["COLUMN_MAJOR", "DEFAULT", "every_part_has_work", "programs", "space"]

# Tensor cores take 8-bit operands only with K contiguous, and so are weights stored.
COLUMN_MAJOR = Parameter("B_COLUMN_MAJOR", (True,))

# What vLLM runs without a tuned file (w8a8_triton_block_scaled_mm of its fp8_utils.py).
DEFAULT: dict[str, ParameterValue] = {
    "BLOCK_SIZE_M": 64,
    "BLOCK_SIZE_N": SCALED_ELEMENTS,
    "BLOCK_SIZE_K": SCALED_ELEMENTS,
    "GROUP_SIZE_M": 32,
    "NUM_KSPLIT": 1,
    "cache_modifier": "",
    "num_warps": 4,
    "num_stages": 2,
}


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Steps of K that share a scale; NUM_KSPLIT programs share a tile."""
    gpu = gpu_of(board)
    blocks = parameters(
        BLOCK_SIZE_M=rules.powers_of_two(16, 128),
        BLOCK_SIZE_N=rules.powers_of_two(32, SCALED_ELEMENTS),
        BLOCK_SIZE_K=(SCALED_ELEMENTS,),
        GROUP_SIZE_M=(1, 8, 32),
        NUM_KSPLIT=(1, 2, 4, 8),
    )
    loads = Parameter("cache_modifier", ("", ".cg"))
    tuned = (*blocks, loads, COLUMN_MAJOR, *product_options(gpu, stages=(1, 2, 3, 4, 5)))
    pruning = product_rules(problem, gpu, tuned, lambda config: programs(problem, config))
    pruning.append(every_part_has_work(problem))
    return product_space(gpu, tuned, DEFAULT, pruning)


def programs(problem: Problem, config: Config) -> int:
    """How many programs a configuration has."""
    return tiles(problem, config) * size_of(config, "NUM_KSPLIT")


def every_part_has_work(problem: Problem) -> Rule:
    """Each of the programs of a tile has a scale to multiply with."""
    return rules.every_part_has_work("NUM_KSPLIT", "BLOCK_SIZE_K", problem.shape["K"])
