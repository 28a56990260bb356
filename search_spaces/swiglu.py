"""Search space of SwiGLU on a vector board."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.blocks import cache_rules, elements_of, parameters, pruned
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Blocks of BLOCK_SIZE elements of gate, up and result."""
    size_bytes = rules.element_bytes(problem.dtype)
    lanes = rules.lanes_in_register(board.vlen_bits, size_bytes)
    pruning = [
        rules.rows_fill_registers("BLOCK_SIZE", lanes),
        rules.block_within_problem("BLOCK_SIZE", "N", problem.shape["N"], at_least=lanes),
        *cache_rules(board, elements_of("BLOCK_SIZE", copies=3), size_bytes),
    ]
    return pruned(problem, parameters(BLOCK_SIZE=rules.powers_of_two(16, 16384)), pruning)
