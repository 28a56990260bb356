"""The search space of ROCm's tune_gemm v2, with its rules, for the product that splits its sums."""

from __future__ import annotations

from collections.abc import Sequence

from rvv_runner.board import BoardInfo
from search_spaces import gemm_rules, rules
from search_spaces.blocks import parameters
from search_spaces.gpu.options import gpu_of
from search_spaces.gpu.products import product_space
from search_spaces.problem import Problem
from search_spaces.space import Rule, SearchSpace

__all__ = ["space", "space_with_splits"]

_SPLITS = (1, 2, 4, 5, 6, 8, 10, 12, 16, 18, 24)
_DEFAULT = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 64}

# Sides of the result of a matrix instruction on AMD; NVIDIA's take 16 rows or more.
_SMALL_INSTRUCTION, _INSTRUCTION = 16, 32


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Every value that the script tries, and its five rules as bans."""
    return space_with_splits(problem, board, _SPLITS)


def space_with_splits(problem: Problem, board: BoardInfo, splits: Sequence[int]) -> SearchSpace:
    """The space with these values of SPLIT_K; without any, of the plain product."""
    gpu = gpu_of(board)
    split = parameters(SPLIT_K=splits) if splits else ()
    blocks = parameters(
        BLOCK_SIZE_M=rules.powers_of_two(16, 256),
        BLOCK_SIZE_N=rules.powers_of_two(16, 256),
        BLOCK_SIZE_K=rules.powers_of_two(16, 256),
        GROUP_SIZE_M=(1, 2, 4, 8, 16, 32),
        num_warps=(1, 2, 4, 8),
        num_stages=(2,),
    )
    on_amd = parameters(waves_per_eu=(0,), matrix_instr_nonkdim=(16, 32), kpack=(1, 2))
    tuned = (*blocks, *split, *(on_amd if gpu.is_amd else ()))
    m, n, k = (problem.shape[name] for name in "MNK")
    about_splits = [
        gemm_rules.split_k_divides_k(k),
        gemm_rules.split_k_only_where_needed(m, n, k),
    ]
    pruning = [
        *_instruction_rules(m, n, is_amd=gpu.is_amd),
        *(about_splits if splits else ()),
        gemm_rules.group_within_rows(m),
        gemm_rules.block_k_leaves_room(),
    ]
    return product_space(gpu, tuned, _DEFAULT, pruning)


def _instruction_rules(m: int, n: int, *, is_amd: bool) -> list[Rule]:
    """A block is no smaller than the result of a matrix instruction that fits the product."""
    smallest = _INSTRUCTION if is_amd and min(m, n) >= _INSTRUCTION else _SMALL_INSTRUCTION
    return [gemm_rules.block_of_an_instruction(f"BLOCK_SIZE_{name}", smallest) for name in "MN"]
