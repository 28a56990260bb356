"""Search space of the gradients of layer normalisation on a GPU."""

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
    """ROW_BLOCKS blocks of BLOCK_SIZE_M whole rows; BLOCK_SIZE_N covers a row and is not tuned."""
    gpu, m, n = gpu_of(board), problem.shape["M"], problem.shape["N"]
    tuned = parameters(
        BLOCK_SIZE_M=rules.powers_of_two(1, 16),
        BLOCK_SIZE_N=(rules.next_power_of_two(n),),
        ROW_BLOCKS=rules.powers_of_two(1, 256),
    ) + launch_options(gpu, (1, 2, 4, 8, 16, 32))

    def block(config: Config) -> int:
        return size_of(config, "BLOCK_SIZE_M", "BLOCK_SIZE_N")

    def rows(config: Config) -> int:
        return size_of(config, "BLOCK_SIZE_M", "ROW_BLOCKS")

    pruning = [
        rules.row_blocks_within(m),
        threads_have_work(gpu, block),
        accumulators_in_registers(gpu, block),
        enough_programs(gpu, lambda config: -(-m // rows(config)), m),
    ]
    return product_space(gpu, tuned, {"BLOCK_SIZE_M": 1, "ROW_BLOCKS": 16}, pruning)
