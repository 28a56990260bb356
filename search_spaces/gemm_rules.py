"""Pruning rules of GPU GEMM tuners, for kernels with the same parameters.

They come from tune_gemm v2 (ROCm's Triton, scripts/amd/gemm), one function per rule. The spaces of
`search_spaces/gpu/tune_gemm` have them all; any other space uses those that apply to its kernel.
"""

from __future__ import annotations

from foundation.config import Config
from search_spaces.space import Rule

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
        f"{_kebab(parameter)}-of-an-instruction",
        f"{parameter} is smaller than the {smallest} that one instruction works on",
        lambda config: _size(config, parameter) >= smallest,
    )


def split_k_divides_k(k: int, split: str = "SPLIT_K", block: str = "BLOCK_SIZE_K") -> Rule:
    """The parts of K are whole blocks, so that the kernel does not have to mask loads along K."""
    return Rule(
        "split-k-divides-k",
        f"{split} parts of blocks of {block} do not divide K = {k}",
        lambda config: k % (_size(config, split) * _size(config, block)) == 0,
    )


def split_k_only_where_needed(m: int, n: int, k: int, split: str = "SPLIT_K") -> Rule:
    """K is split only if M or N is small and K is long."""
    needed = min(m, n) < _FEW_ROWS_OR_COLUMNS and k > _LONG_K
    return Rule(
        "split-k-only-where-needed",
        f"M = {m} and N = {n} are large or K = {k} is short, so {split} stays 1",
        lambda config: needed or _size(config, split) == 1,
    )


def group_within_rows(m: int, group: str = "GROUP_SIZE_M", block: str = "BLOCK_SIZE_M") -> Rule:
    """A group of several rows of blocks is smaller than M."""
    return Rule(
        "group-within-rows",
        f"a group of {group} blocks of {block} is not smaller than M = {m}, so {group} stays 1",
        lambda config: _size(config, group) == 1 or _size(config, group) * _size(config, block) < m,
    )


def block_k_leaves_room(
    k: str = "BLOCK_SIZE_K", others: tuple[str, ...] = ("BLOCK_SIZE_M", "BLOCK_SIZE_N")
) -> Rule:
    """BLOCK_SIZE_K and another block are not both 128: on-chip memory would not hold them."""
    return Rule(
        "block-k-leaves-room",
        f"{k} and {' or '.join(others)} are both {_LARGE_BLOCK}, which takes too much memory",
        lambda config: (
            _size(config, k) != _LARGE_BLOCK
            or all(_size(config, name) != _LARGE_BLOCK for name in others)
        ),
    )


def _size(config: Config, parameter: str) -> int:
    return int(config[parameter])


def _kebab(parameter: str) -> str:
    return parameter.lower().replace("_", "-")
