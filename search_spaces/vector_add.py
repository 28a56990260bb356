"""Search space of the sum of two vectors on a vector board."""

from __future__ import annotations

from foundation.config import Config
from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.problem import Problem
from search_spaces.space import Parameter, SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Blocks of BLOCK_SIZE elements."""
    size_bytes = rules.element_bytes(problem.dtype)
    lanes = rules.lanes_in_register(board.vlen_bits, size_bytes)
    pruning = [
        rules.rows_fill_registers("BLOCK_SIZE", lanes),
        rules.block_within_problem("BLOCK_SIZE", "N", problem.shape["N"], at_least=lanes),
    ]
    if board.l2_bytes is not None:
        pruning.append(rules.working_set_within_l2(_working_set, size_bytes, board.l2_bytes))
    return SearchSpace(
        parameters=(Parameter("BLOCK_SIZE", rules.powers_of_two(4, 65536)),),
        rules=rules.sparing(problem.default_config, pruning),
        default=problem.default_config,
    )


def _working_set(config: Config) -> int:
    """Elements of the blocks of both operands and the sum."""
    return 3 * int(config["BLOCK_SIZE"])
