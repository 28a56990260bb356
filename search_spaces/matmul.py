"""What may be tried for the matrix product on a vector board."""

from __future__ import annotations

from kernels.spec import Problem
from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.config import Config
from search_spaces.space import Parameter, SearchSpace

__all__ = ["space"]

# C is summed up in fp32, whatever the type of A and B.
_ACCUMULATOR_BYTES = 4


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Blocks of C of BLOCK_SIZE_M x BLOCK_SIZE_N, summed up in steps of BLOCK_SIZE_K."""
    m, n, k = (problem.shape[name] for name in "MNK")
    size_bytes = rules.element_bytes(problem.dtype)
    lanes = rules.lanes_in_register(board.vlen_bits, size_bytes)
    pruning = [
        rules.rows_fill_registers("BLOCK_SIZE_N", lanes),
        rules.block_within_problem("BLOCK_SIZE_M", "M", m),
        rules.block_within_problem("BLOCK_SIZE_N", "N", n, at_least=lanes),
        rules.block_within_problem("BLOCK_SIZE_K", "K", k),
        rules.group_has_effect("GROUP_SIZE_M", ("BLOCK_SIZE_M", m), ("BLOCK_SIZE_N", n)),
        rules.enough_work(("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K"), (m, n, k), lanes),
        rules.stack_within_limit(_accumulator, _ACCUMULATOR_BYTES),
    ]
    if board.l2_bytes is not None:
        pruning.append(rules.working_set_within_l2(_working_set, size_bytes, board.l2_bytes))
    return SearchSpace(
        parameters=(
            Parameter("BLOCK_SIZE_M", rules.powers_of_two(1, 256)),
            Parameter("BLOCK_SIZE_N", rules.powers_of_two(4, 512)),
            Parameter("BLOCK_SIZE_K", rules.powers_of_two(1, 256)),
            Parameter("GROUP_SIZE_M", (1, 2, 4, 8, 16)),
        ),
        rules=rules.sparing(problem.default_config, pruning),
        default=problem.default_config,
    )


def _accumulator(config: Config) -> int:
    """Elements of the block of C."""
    return int(config["BLOCK_SIZE_M"]) * int(config["BLOCK_SIZE_N"])


def _working_set(config: Config) -> int:
    """Elements of the blocks of A, B and C."""
    m, n, k = (int(config[f"BLOCK_SIZE_{name}"]) for name in "MNK")
    return m * k + k * n + m * n
