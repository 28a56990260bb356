"""Pruning rules for vector boards: each has a name and says why it prunes a block size."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from foundation.config import Config
from launchers.arguments import STORAGE_TYPES
from search_spaces.space import Rule, kebab

__all__ = [
    "block_within_problem",
    "element_bytes",
    "enough_work",
    "every_part_has_work",
    "group_has_effect",
    "lanes_in_register",
    "next_power_of_two",
    "powers_of_two",
    "row_blocks_within",
    "rows_fill_registers",
    "sparing",
    "stack_within_limit",
    "working_set_within_l2",
]

# Tensors of a block that do not fit in registers live on the stack. Linux gives a main thread
# 8 MiB; a quarter leaves room for the lowering's temporaries, whose size is unknown here.
_STACK_LIMIT_BYTES = 2 * 1024 * 1024

# The fewest vector operations in one program, or in one step of its loop. With fewer, its set-up
# costs more than its work. An estimate.
_MIN_VECTOR_OPERATIONS = 16


def powers_of_two(smallest: int, largest: int) -> tuple[int, ...]:
    """The powers of two from `smallest` to `largest`, which are powers of two themselves.

    Triton's block sizes must be powers of two.
    """
    return tuple(1 << e for e in range(smallest.bit_length() - 1, largest.bit_length()))


def next_power_of_two(size: int) -> int:
    """The smallest power of two that is at least `size`, a positive number."""
    return 1 << (size - 1).bit_length()


def element_bytes(dtype: str) -> int:
    """Size of an element of Triton's type `dtype` in memory."""
    return np.dtype(STORAGE_TYPES[dtype]).itemsize


def lanes_in_register(vlen_bits: int, size_bytes: int) -> int:
    """Elements of that size in one vector register."""
    return vlen_bits // (8 * size_bytes)


def sparing(default: Config, rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """The same rules, except that they always allow the default.

    Speed-ups are over the default, so it is always measured.
    """
    return tuple(replace(rule, spares=default) for rule in rules)


def rows_fill_registers(parameter: str, lanes: int) -> Rule:
    """The block's last dimension is a whole number of vector registers.

    Rows become vectors, and an operation on part of a register costs as much as on all of it.
    """
    return Rule(
        "rows-fill-registers",
        f"{parameter} is not a multiple of the {lanes} elements of a vector register, "
        "so lanes would be idle",
        lambda config: _size(config, parameter) % lanes == 0,
    )


def block_within_problem(parameter: str, dimension: str, size: int, at_least: int = 1) -> Rule:
    """A block is no larger than the power of two that covers its dimension of the problem.

    Args:
        parameter: the block size.
        dimension: the dimension's name.
        size: the dimension's size.
        at_least: blocks up to this size are always allowed. If another rule demands whole
            registers, a smaller dimension still needs one.
    """
    limit = max(next_power_of_two(size), at_least)
    return Rule(
        f"{kebab(parameter)}-within-{kebab(dimension)}",
        f"{parameter} is larger than {limit}, which covers all of {dimension} = {size}",
        lambda config: _size(config, parameter) <= limit,
    )


def working_set_within_l2(
    elements: Callable[[Config], int], size_bytes: int, l2_bytes: int
) -> Rule:
    """The blocks that one step of a program touches fit in the L2 cache together.

    Args:
        elements: their total number of elements.
        size_bytes: size of an element.
        l2_bytes: size of the cache.
    """
    return Rule(
        "working-set-within-l2",
        f"the blocks of one step take more than the {l2_bytes // 1024} KiB of the L2 cache",
        lambda config: elements(config) * size_bytes <= l2_bytes,
    )


def stack_within_limit(elements: Callable[[Config], int], size_bytes: int) -> Rule:
    """The blocks that a program keeps from step to step fit on its stack, by an estimate.

    Args:
        elements: their total number of elements.
        size_bytes: size of an element.
    """
    return Rule(
        "stack-within-limit",
        f"the blocks kept on the stack take more than {_STACK_LIMIT_BYTES // 1024} KiB (estimated)",
        lambda config: elements(config) * size_bytes <= _STACK_LIMIT_BYTES,
    )


def enough_work(parameters: Sequence[str], dimensions: Sequence[int], lanes: int) -> Rule:
    """One step does enough vector operations to pay for its set-up, by an estimate.

    Args:
        parameters: the block sizes whose product is the step's work in elements.
        dimensions: the problem's sizes in the same order; a block never needs to exceed them.
        lanes: elements of a vector register.
    """
    least = min(_MIN_VECTOR_OPERATIONS * lanes, math.prod(map(next_power_of_two, dimensions)))
    return Rule(
        "enough-work",
        f"a step of fewer than {least} elements does less work than its set-up (estimated)",
        lambda config: math.prod(_size(config, name) for name in parameters) >= least,
    )


def every_part_has_work(split: str, block: str, size: int, dimension: str = "K") -> Rule:
    """Sums over a dimension are split into no more parts than there are blocks of it.

    Args:
        split, block: the parameters of the number of parts and of the block size.
        size, dimension: the dimension's size and name.
    """
    return Rule(
        "every-part-has-work",
        f"{split} parts of whole blocks of {block} are more than {dimension} = {size} has",
        lambda config: _size(config, split) <= -(-size // _size(config, block)),
    )


def row_blocks_within(m: int) -> Rule:
    """ROW_BLOCKS blocks of BLOCK_SIZE_M rows are no more than the M rows need."""
    return Rule(
        "row-blocks-within-m",
        f"ROW_BLOCKS blocks of BLOCK_SIZE_M rows are more than M = {m} needs",
        lambda config: (
            _size(config, "ROW_BLOCKS") * _size(config, "BLOCK_SIZE_M") <= next_power_of_two(m)
        ),
    )


def group_has_effect(group: str, rows: tuple[str, int], columns: tuple[str, int]) -> Rule:
    """A group has several rows of blocks only if that changes the order of programs.

    Args:
        group: the parameter with the number of rows of blocks in a group.
        rows, columns: the parameter of the block size, and the problem's size in that dimension.
    """

    def allows(config: Config) -> bool:
        block_rows = -(-rows[1] // _size(config, rows[0]))
        block_columns = -(-columns[1] // _size(config, columns[0]))
        most = block_rows if block_columns > 1 else 1
        return _size(config, group) <= most

    return Rule(
        "group-has-effect",
        f"{group} is larger than the rows of blocks it groups, or there is a single column of "
        "them: a smaller group runs the same programs in the same order",
        allows,
    )


def _size(config: Config, parameter: str) -> int:
    return int(config[parameter])
