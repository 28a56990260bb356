"""Search space of the rotary position embedding on a GPU."""

from __future__ import annotations

from foundation.config import Config
from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.blocks import parameters, size_of
from search_spaces.gpu.options import gpu_of, launch_options
from search_spaces.gpu.products import product_space
from search_spaces.gpu.rules import accumulators_in_registers, enough_programs, threads_have_work
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """BLOCK_SIZE_M tokens, BLOCK_SIZE_H heads at a time; BLOCK_SIZE_D covers half a head."""
    gpu, tokens, heads = gpu_of(board), problem.shape["TOKENS"], problem.shape["HEADS"]
    tuned = parameters(
        BLOCK_SIZE_M=rules.powers_of_two(1, 64),
        BLOCK_SIZE_H=rules.powers_of_two(1, 64),
        BLOCK_SIZE_D=(size_of(problem.default_config, "BLOCK_SIZE_D"),),
    ) + launch_options(gpu, (1, 2, 4, 8, 16))

    def block(config: Config) -> int:
        return size_of(config, "BLOCK_SIZE_H", "BLOCK_SIZE_D")

    def programs(config: Config) -> int:
        return -(-tokens // size_of(config, "BLOCK_SIZE_M"))

    pruning = [
        rules.block_within_problem("BLOCK_SIZE_M", "TOKENS", tokens),
        rules.block_within_problem("BLOCK_SIZE_H", "HEADS", heads),
        threads_have_work(gpu, block),
        accumulators_in_registers(gpu, block),
        enough_programs(gpu, programs, tokens),
    ]
    return product_space(gpu, tuned, {"BLOCK_SIZE_M": 1, "BLOCK_SIZE_H": 4}, pruning)
