"""The search space of ROCm's tune_gemm v2 for the plain matrix product: without splits of K."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from search_spaces.gpu.tune_gemm.split_k_matmul import space_with_splits
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Every value that the script tries, and those of its rules that are not about splits."""
    return space_with_splits(problem, board, ())
