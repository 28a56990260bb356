"""Pruning rules of GPU GEMM tuners, for kernels with the same parameters.

They come from tune_gemm v2 (ROCm's Triton, scripts/amd/gemm), one function per rule. The spaces of
`search_spaces/gpu/tune_gemm` have them all; any other space uses those that apply to its kernel.
"""

from __future__ import annotations

from search_spaces.blocks import size_of
from search_spaces.space import Rule, kebab

__all__ = [
    "block_k_leaves_room",
    "block_of_an_instruction",
    "group_within_rows",
    "split_k_divides_k",
    "split_k_only_where_needed",
]

# As in `need_split_k` of that script: K is split if there are few tiles of C, each with a long sum.
_FEW_ROWS_OR_COLUMNS = 64
_LONG_K = 1024

_LARGE_BLOCK = 128


def block_of_an_instruction(parameter: str, smallest: int) -> Rule:
    """A block is at least as large as the operand of one matrix instruction.

    Args:
        parameter: the block size.
        smallest: the operand's size in that dimension.
    """
    return Rule(
        f"{kebab(parameter)}-of-an-instruction",
        f"{parameter} is smaller than the {smallest} that one instruction works on",
        lambda config: size_of(config, parameter) >= smallest,
    )


def split_k_divides_k(k: int) -> Rule:
    """The parts of K are whole blocks, so that the kernel does not have to mask loads along K."""
    return Rule(
        "split-k-divides-k",
        f"SPLIT_K parts of blocks of BLOCK_SIZE_K do not divide K = {k}",
        lambda config: k % size_of(config, "SPLIT_K", "BLOCK_SIZE_K") == 0,
    )


def split_k_only_where_needed(m: int, n: int, k: int) -> Rule:
    """K is split only if M or N is small and K is long."""
    needed = min(m, n) < _FEW_ROWS_OR_COLUMNS and k > _LONG_K
    return Rule(
        "split-k-only-where-needed",
        f"M = {m} and N = {n} are large or K = {k} is short, so SPLIT_K stays 1",
        lambda config: needed or size_of(config, "SPLIT_K") == 1,
    )


def group_within_rows(m: int) -> Rule:
    """A group of several rows of blocks is smaller than M."""
    return Rule(
        "group-within-rows",
        "a group of GROUP_SIZE_M blocks of BLOCK_SIZE_M is not smaller than "
        f"M = {m}, so GROUP_SIZE_M stays 1",
        lambda config: (
            size_of(config, "GROUP_SIZE_M") == 1
            or size_of(config, "GROUP_SIZE_M", "BLOCK_SIZE_M") < m
        ),
    )


def block_k_leaves_room() -> Rule:
    """BLOCK_SIZE_K and another block are not both 128: on-chip memory would not hold them."""
    return Rule(
        "block-k-leaves-room",
        f"BLOCK_SIZE_K and BLOCK_SIZE_M or BLOCK_SIZE_N are both {_LARGE_BLOCK}, "
        "which takes too much memory",
        lambda config: (
            config["BLOCK_SIZE_K"] != _LARGE_BLOCK
            or _LARGE_BLOCK not in (config["BLOCK_SIZE_M"], config["BLOCK_SIZE_N"])
        ),
    )
