"""The search space of AITER's tune_a8w8_blockscale.py: each value that it lists.

Its guide counts 3,456 configurations; the values that it and the script list make 5,832.
"""

from __future__ import annotations

from foundation.config import ParameterValue
from rvv_runner.board import BoardInfo
from search_spaces.blocks import parameters
from search_spaces.gpu.gemm_a8w8_blockscale import COLUMN_MAJOR, DEFAULT, every_part_has_work
from search_spaces.gpu.options import gpu_of
from search_spaces.gpu.products import product_space
from search_spaces.problem import Problem
from search_spaces.space import Parameter, SearchSpace

__all__ = ["space"]

_BLOCKS = (32, 64, 128)
# The base configuration of the script.
_DEFAULT: dict[str, ParameterValue] = {
    **DEFAULT,
    "BLOCK_SIZE_M": 128,
    "GROUP_SIZE_M": 1,
    "waves_per_eu": 2,
    "kpack": 2,
}


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Every combination of the script's values; on NVIDIA without the options of AMD's compiler."""
    gpu = gpu_of(board)
    blocks = parameters(
        BLOCK_SIZE_M=_BLOCKS,
        BLOCK_SIZE_N=_BLOCKS,
        BLOCK_SIZE_K=(128,),
        GROUP_SIZE_M=(1, 8, 16),
        num_warps=(2, 4, 8),
        num_stages=(1, 2, 3, 4),
        NUM_KSPLIT=(1, 2, 4),
    )
    on_amd = parameters(waves_per_eu=(2, 4, 8), kpack=(2,), matrix_instr_nonkdim=(16,))
    loads = Parameter("cache_modifier", ("", ".cg"))
    tuned = (*blocks, *(on_amd if gpu.is_amd else ()), loads, COLUMN_MAJOR)
    return product_space(gpu, tuned, _DEFAULT, [every_part_has_work(problem)])
