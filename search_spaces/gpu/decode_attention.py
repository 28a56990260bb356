"""Search space of the attention of one new token over a cache, on a GPU."""

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
    uses_warpgroups,
)
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]

_KEYS = rules.powers_of_two(16, 256)
_SPLITS = rules.powers_of_two(1, 64)


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """BLOCK_SIZE_N keys a step; SPLITS programs share the cache of a head."""
    gpu, sizes = gpu_of(board), problem.shape
    rows, head = _sides(problem)
    blocks = parameters(
        BLOCK_SIZE_M=(rows,), BLOCK_SIZE_N=_KEYS, BLOCK_SIZE_DMODEL=(head,), SPLITS=_SPLITS
    )
    tuned = blocks + product_options(gpu)

    def programs(config: Config) -> int:
        return sizes["KV_HEADS"] * size_of(config, "SPLITS")

    most = min(_SPLITS[-1], -(-sizes["N_CTX"] // _KEYS[0]))
    pruning = [
        rules.block_within_problem("BLOCK_SIZE_N", "N_CTX", sizes["N_CTX"], at_least=_KEYS[0]),
        rules.every_part_has_work("SPLITS", "BLOCK_SIZE_N", sizes["N_CTX"], "N_CTX"),
        accumulators_in_registers(gpu, lambda config: _accumulators(problem, config)),
        operands_in_shared_memory(gpu, lambda config: _shared_bytes(problem, gpu, config)),
        enough_programs(gpu, programs, sizes["KV_HEADS"] * most),
    ]
    covering = {"BLOCK_SIZE_M": rows, "BLOCK_SIZE_DMODEL": head}
    default = {**covering, "BLOCK_SIZE_N": 64, "SPLITS": 1, "num_stages": 2}
    return product_space(gpu, tuned, default, pruning)


def _sides(problem: Problem) -> tuple[int, int]:
    """Rows and columns of a block of results: a group's heads, and a head's elements."""
    group, head = problem.shape["G"], problem.shape["D_HEAD"]
    return rules.next_power_of_two(group), rules.next_power_of_two(head)


def _accumulators(problem: Problem, config: Config) -> int:
    """Elements of the scores and the result, which are both kept in registers."""
    rows, head = _sides(problem)
    return rows * (size_of(config, "BLOCK_SIZE_N") + head)


def _shared_bytes(problem: Problem, gpu: GpuLimits, config: Config) -> int:
    """Shared memory of the blocks of keys and values in flight, in bytes."""
    rows, head = _sides(problem)
    keys = size_of(config, "BLOCK_SIZE_N") * head * rules.element_bytes(problem.dtype)
    warpgroups = uses_warpgroups(gpu, problem.dtype, rows, size_of(config, "num_warps"))
    return pipelined_bytes((keys, keys), size_of(config, "num_stages"), warpgroups=warpgroups)
