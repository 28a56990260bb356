"""Search space of a softmax over rows on a vector board."""

from __future__ import annotations

from foundation.config import Config
from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.problem import Problem
from search_spaces.space import Parameter, SearchSpace

__all__ = ["space"]


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Blocks of BLOCK_SIZE_M whole rows; BLOCK_SIZE_N covers a row and is not tuned."""
    size_bytes = rules.element_bytes(problem.dtype)
    pruning = [
        rules.block_within_problem("BLOCK_SIZE_M", "M", problem.shape["M"]),
        rules.stack_within_limit(_block, size_bytes),
    ]
    if board.l2_bytes is not None:
        pruning.append(rules.working_set_within_l2(_working_set, size_bytes, board.l2_bytes))
    return SearchSpace(
        parameters=(
            Parameter("BLOCK_SIZE_M", rules.powers_of_two(1, 32)),
            Parameter("BLOCK_SIZE_N", (rules.next_power_of_two(problem.shape["N"]),)),
        ),
        rules=rules.sparing(problem.default_config, pruning),
        default=problem.default_config,
    )


def _block(config: Config) -> int:
    """Elements of the block, whose exponentials are kept until their sum is known."""
    return int(config["BLOCK_SIZE_M"]) * int(config["BLOCK_SIZE_N"])


def _working_set(config: Config) -> int:
    """Elements of the block as input, as exponentials and as output."""
    return 3 * _block(config)
