"""The search space that products with packed weights of four bits share."""

from __future__ import annotations

from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.blocks import ACCUMULATOR_BYTES, elements_of, parameters, pruned
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["GROUP", "TILE", "tiles_of_packed_weights"]

# Weights along K, and activations, that share a scale.
GROUP = 32
# Columns of packed weights that lie side by side: enough for long vectors, and for two cache lines.
TILE = 128


def tiles_of_packed_weights(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Blocks of BLOCK_SIZE_M of the M rows and of BLOCK_SIZE_N of the N columns, within a tile.

    One row takes vectors of columns; more take `tl.dot`.
    """
    lanes = rules.lanes_in_register(board.vlen_bits, ACCUMULATOR_BYTES)
    tuned = parameters(
        BLOCK_SIZE_M=rules.powers_of_two(1, 64), BLOCK_SIZE_N=rules.powers_of_two(16, TILE)
    )
    pruning = [
        rules.rows_fill_registers("BLOCK_SIZE_N", lanes),
        rules.block_within_problem("BLOCK_SIZE_M", "M", problem.shape["M"]),
        rules.block_within_problem("BLOCK_SIZE_N", "N", problem.shape["N"], at_least=lanes),
        rules.stack_within_limit(elements_of("BLOCK_SIZE_M", "BLOCK_SIZE_N"), ACCUMULATOR_BYTES),
    ]
    return pruned(problem, tuned, pruning)
