"""Pruning rules that the search spaces of several kernels share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from foundation.config import Config
from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.problem import Problem
from search_spaces.space import Parameter, Rule, SearchSpace

__all__ = [
    "ACCUMULATOR_BYTES",
    "cache_rules",
    "chunked_rows",
    "chunks_of_rows",
    "elements_of",
    "image_tiles",
    "parameters",
    "product_operands",
    "product_rules",
    "pruned",
    "row_rules",
    "size_of",
]

# For every element type, kernels accumulate in fp32 or int32, so rows are counted in 32-bit lanes.
ACCUMULATOR_BYTES = 4


def size_of(config: Config, *names: str) -> int:
    """The product of some of a configuration's sizes."""
    return math.prod(int(config[name]) for name in names)


def elements_of(*names: str, copies: int = 1) -> Callable[[Config], int]:
    """A function that counts the elements of `copies` blocks whose sides are these parameters."""
    return lambda config: copies * size_of(config, *names)


def parameters(**values: Sequence[int]) -> tuple[Parameter, ...]:
    """Parameters in the given order."""
    return tuple(Parameter(name, tuple(sizes)) for name, sizes in values.items())


def chunks_of_rows(columns: int) -> tuple[int, ...]:
    """Block sizes for rows that are processed in parts, up to a whole row."""
    whole_row = rules.next_power_of_two(columns)
    return rules.powers_of_two(min(4, whole_row), whole_row)


def pruned(problem: Problem, tuned: tuple[Parameter, ...], pruning: Sequence[Rule]) -> SearchSpace:
    """The space of these parameters, in which the default configuration is always allowed."""
    default = problem.default_config
    return SearchSpace(tuned, rules.sparing(default, pruning), default)


def product_rules(
    problem: Problem,
    board: BoardInfo,
    working_set: Callable[[Config], int],
    *,
    grouped: bool = False,
    least_m: int = 1,
) -> list[Rule]:
    """Rules for a tile of BLOCK_SIZE_M x BLOCK_SIZE_N sums over the reduction dimension K.

    Args:
        problem: has the dimensions M, N and K.
        board: the board it runs on.
        working_set: elements of the blocks of one step, which should fit in the L2 cache.
        grouped: whether programs walk GROUP_SIZE_M rows of tiles column by column.
        least_m: blocks of up to this many rows are allowed even if M is smaller.
    """
    m, n, k = (problem.shape[name] for name in "MNK")
    lanes = rules.lanes_in_register(board.vlen_bits, ACCUMULATOR_BYTES)
    blocks = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K")
    order = rules.group_has_effect("GROUP_SIZE_M", ("BLOCK_SIZE_M", m), ("BLOCK_SIZE_N", n))
    pruning = [
        rules.rows_fill_registers("BLOCK_SIZE_N", lanes),
        rules.block_within_problem("BLOCK_SIZE_M", "M", m, at_least=least_m),
        rules.block_within_problem("BLOCK_SIZE_N", "N", n, at_least=lanes),
        rules.block_within_problem("BLOCK_SIZE_K", "K", k),
        *([order] if grouped else []),
        rules.enough_work(blocks, (m, n, k), lanes),
        rules.stack_within_limit(elements_of("BLOCK_SIZE_M", "BLOCK_SIZE_N"), ACCUMULATOR_BYTES),
    ]
    return pruning + cache_rules(board, working_set, rules.element_bytes(problem.dtype))


def product_operands(config: Config) -> int:
    """Elements of the blocks of A, B and C in one step of a matrix product."""
    m, n, k = (size_of(config, f"BLOCK_SIZE_{name}") for name in "MNK")
    return m * k + k * n + m * n


def row_rules(
    board: BoardInfo,
    rows: Mapping[str, tuple[str, int]],
    columns: Mapping[str, tuple[str, int]],
    working_set: Callable[[Config], int],
) -> list[Rule]:
    """Rules for blocks of rows of a matrix or image; each row becomes vectors.

    Args:
        board: the board it runs on.
        rows, columns: for each block size, the dimension it divides and that dimension's size.
        working_set: 32-bit elements of the blocks of one step, which should fit in the L2 cache.
    """
    lanes = rules.lanes_in_register(board.vlen_bits, ACCUMULATOR_BYTES)
    pruning = [rules.block_within_problem(name, *of) for name, of in rows.items()]
    for name, of in columns.items():
        pruning.append(rules.rows_fill_registers(name, lanes))
        pruning.append(rules.block_within_problem(name, *of, at_least=lanes))
    pruning.append(rules.stack_within_limit(working_set, ACCUMULATOR_BYTES))
    return pruning + cache_rules(board, working_set, ACCUMULATOR_BYTES)


def cache_rules(
    board: BoardInfo, working_set: Callable[[Config], int], size_bytes: int
) -> list[Rule]:
    """The blocks of one step fit in the board's L2 cache, if it has one."""
    if board.l2_bytes is None:
        return []
    return [rules.working_set_within_l2(working_set, size_bytes, board.l2_bytes)]


def image_tiles(problem: Problem, board: BoardInfo, blocks: int) -> SearchSpace:
    """Tiles of BLOCK_SIZE_H x BLOCK_SIZE_W pixels of an image of H x W.

    Args:
        problem: the kernel at one shape.
        board: the board it runs on.
        blocks: number of tiles in use at once.
    """
    tuned = parameters(
        BLOCK_SIZE_H=rules.powers_of_two(1, 32),
        BLOCK_SIZE_W=rules.powers_of_two(4, 512),
    )
    pruning = row_rules(
        board,
        rows={"BLOCK_SIZE_H": ("H", problem.shape["H"])},
        columns={"BLOCK_SIZE_W": ("W", problem.shape["W"])},
        working_set=elements_of("BLOCK_SIZE_H", "BLOCK_SIZE_W", copies=blocks),
    )
    return pruned(problem, tuned, pruning)


def chunked_rows(problem: Problem, board: BoardInfo, blocks: int) -> SearchSpace:
    """BLOCK_SIZE_M of the M rows, BLOCK_SIZE_N of their N columns at a time.

    Args:
        problem: the kernel at one shape.
        board: the board it runs on.
        blocks: number of blocks in use at once.
    """
    columns = problem.shape["N"]
    tuned = parameters(
        BLOCK_SIZE_M=rules.powers_of_two(1, 32),
        BLOCK_SIZE_N=chunks_of_rows(columns),
    )
    pruning = row_rules(
        board,
        rows={"BLOCK_SIZE_M": ("M", problem.shape["M"])},
        columns={"BLOCK_SIZE_N": ("N", columns)},
        working_set=elements_of("BLOCK_SIZE_M", "BLOCK_SIZE_N", copies=blocks),
    )
    return pruned(problem, tuned, pruning)
