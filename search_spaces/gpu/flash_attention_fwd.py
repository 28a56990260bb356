"""Search space of attention that does not store the matrix of scores, on a GPU."""

from __future__ import annotations

from foundation.config import Config
from foundation.gpu_limits import GpuLimits
from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.blocks import parameters, size_of
from search_spaces.gpu.options import gpu_of, product_options
from search_spaces.gpu.products import product_space
from search_spaces.gpu.rules import (
    accumulators_in_registers,
    enough_programs,
    operands_in_shared_memory,
    pipelined_bytes,
    threads_have_work,
    uses_warpgroups,
)
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """BLOCK_SIZE_M queries times BLOCK_SIZE_N keys; BLOCK_SIZE_DMODEL covers a head."""
    gpu, sizes = gpu_of(board), problem.shape
    head = max(16, rules.next_power_of_two(sizes["D_HEAD"]))
    blocks = parameters(
        BLOCK_SIZE_M=rules.powers_of_two(16, 128),
        BLOCK_SIZE_N=rules.powers_of_two(16, 128),
        BLOCK_SIZE_DMODEL=(head,),
    )
    tuned = blocks + product_options(gpu)

    def programs(config: Config) -> int:
        return sizes["Z"] * sizes["H"] * -(-sizes["N_CTX"] // size_of(config, "BLOCK_SIZE_M"))

    pruning = [
        rules.block_within_problem("BLOCK_SIZE_M", "N_CTX", sizes["N_CTX"], at_least=16),
        rules.block_within_problem("BLOCK_SIZE_N", "N_CTX", sizes["N_CTX"], at_least=16),
        threads_have_work(gpu, lambda c: size_of(c, "BLOCK_SIZE_M", "BLOCK_SIZE_N")),
        accumulators_in_registers(gpu, _accumulators),
        operands_in_shared_memory(gpu, lambda config: _shared_bytes(problem, gpu, config)),
        enough_programs(gpu, programs, programs(Config({"BLOCK_SIZE_M": 16}))),
    ]
    default = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "num_stages": 2}
    return product_space(gpu, tuned, default, pruning)


def _accumulators(config: Config) -> int:
    """Elements of the scores and the result, which are both kept in registers."""
    columns = size_of(config, "BLOCK_SIZE_N") + size_of(config, "BLOCK_SIZE_DMODEL")
    return size_of(config, "BLOCK_SIZE_M") * columns


def _shared_bytes(problem: Problem, gpu: GpuLimits, config: Config) -> int:
    """Shared memory of the blocks of queries, and of the keys and values in flight, in bytes."""
    rows, warps = size_of(config, "BLOCK_SIZE_M"), size_of(config, "num_warps")
    row = size_of(config, "BLOCK_SIZE_DMODEL") * rules.element_bytes(problem.dtype)
    keys = size_of(config, "BLOCK_SIZE_N") * row
    warpgroups = uses_warpgroups(gpu, problem.dtype, rows, warps)
    walked = pipelined_bytes((keys, keys), size_of(config, "num_stages"), warpgroups=warpgroups)
    return walked + (rows * row if warpgroups else 0)
