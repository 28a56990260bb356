"""Search spaces of kernels that work on rows of a matrix, on a GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from foundation.config import Config, ParameterValue
from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.blocks import parameters, size_of
from search_spaces.gpu.options import gpu_of, launch_options
from search_spaces.gpu.products import product_space
from search_spaces.gpu.rules import accumulators_in_registers, enough_programs, threads_have_work
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["chunked_rows", "row_space"]

_ROWS = (1, 2, 4, 8, 16)
_WARPS = (1, 2, 4, 8, 16, 32)
_SMALLEST_CHUNK, _LARGEST_CHUNK = 64, 16384


def chunked_rows(problem: Problem, board: BoardInfo) -> SearchSpace:
    """BLOCK_SIZE_M of the M rows, BLOCK_SIZE_N of their N columns at a time."""
    whole = rules.next_power_of_two(problem.shape["N"])
    chunks = rules.powers_of_two(min(_SMALLEST_CHUNK, whole), min(_LARGEST_CHUNK, whole))
    default = {"BLOCK_SIZE_M": 1, "BLOCK_SIZE_N": min(1024, whole)}
    return row_space(problem, board, chunks, default)


def row_space(
    problem: Problem,
    board: BoardInfo,
    columns: Sequence[int],
    default: Mapping[str, ParameterValue],
) -> SearchSpace:
    """BLOCK_SIZE_M of the M rows, and blocks of columns.

    Args:
        problem: the kernel at one shape, with the dimensions M and N.
        board: a GPU.
        columns: the values of BLOCK_SIZE_N.
        default: values of what a user would run without tuning.
    """
    gpu, m = gpu_of(board), problem.shape["M"]
    tuned = parameters(BLOCK_SIZE_M=_ROWS, BLOCK_SIZE_N=columns) + launch_options(gpu, _WARPS)

    def programs(config: Config) -> int:
        return -(-m // size_of(config, "BLOCK_SIZE_M"))

    def block(config: Config) -> int:
        return size_of(config, "BLOCK_SIZE_M", "BLOCK_SIZE_N")

    pruning = [
        rules.block_within_problem("BLOCK_SIZE_M", "M", m),
        threads_have_work(gpu, block),
        accumulators_in_registers(gpu, block),
        enough_programs(gpu, programs, m),
    ]
    return product_space(gpu, tuned, default, pruning)
