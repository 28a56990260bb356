"""What the search spaces of matrix products on a GPU share: rules and defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product

from foundation.config import Config, ParameterValue
from foundation.gpu_limits import GpuLimits
from search_spaces import rules
from search_spaces.blocks import size_of
from search_spaces.gpu.rules import (
    accumulators_in_registers,
    enough_programs,
    few_enough_programs,
    operands_in_shared_memory,
    pipelined_bytes,
    threads_have_work,
    uses_warpgroups,
)
from search_spaces.problem import Problem
from search_spaces.space import Parameter, Rule, SearchSpace

__all__ = [
    "default_blocks",
    "operand_bytes",
    "product_rules",
    "product_space",
    "tiles",
    "with_options",
]

_SMALLEST_BLOCK = 16  # tl.dot takes no smaller one
# A product with fewer rows may be fastest in blocks of 64, which a warpgroup multiplies. With 64
# rows on an H200, some of the best percent had blocks of 128.
_ROWS_OF_TWO_WARPGROUPS = 128

# What Triton does with num_warps and num_stages where nothing is asked for, and AMD's options so
# that nothing is asked of its compiler.
_DEFAULT_OPTIONS: dict[str, ParameterValue] = {
    "num_warps": 4,
    "num_stages": 3,
    "waves_per_eu": 0,
    "matrix_instr_nonkdim": 16,
    "kpack": 1,
}
_DEFAULT_STAGES_ON_AMD = 2


def with_options(
    gpu: GpuLimits, tuned: Sequence[Parameter], values: Mapping[str, ParameterValue]
) -> Config:
    """A configuration of these values, and the usual value of each option that they leave out."""
    usual = dict(_DEFAULT_OPTIONS)
    if gpu.is_amd:
        usual["num_stages"] = _DEFAULT_STAGES_ON_AMD
    wanted = {**usual, **values}
    chosen = {p.name: wanted.get(p.name, p.values[0]) for p in tuned}
    return Config({p.name: v if (v := chosen[p.name]) in p.values else p.values[0] for p in tuned})


def product_space(
    gpu: GpuLimits,
    tuned: tuple[Parameter, ...],
    default: Mapping[str, ParameterValue],
    pruning: Sequence[Rule],
) -> SearchSpace:
    """The space of these parameters, in which the default is always allowed.

    Args:
        gpu: the GPU.
        tuned: the parameters.
        default: values of what a user would run without tuning; options left out are the usual.
        pruning: the rules.
    """
    config = with_options(gpu, tuned, default)
    return SearchSpace(tuned, rules.sparing(config, pruning), config)


def product_rules(
    problem: Problem,
    gpu: GpuLimits,
    tuned: Sequence[Parameter],
    programs: Callable[[Config], int],
    *,
    grouped: bool = True,
) -> list[Rule]:
    """Rules for a tile of BLOCK_SIZE_M x BLOCK_SIZE_N sums over the reduction dimension K.

    Args:
        problem: has the dimensions M, N and K.
        gpu: the GPU.
        tuned: the parameters.
        programs: how many programs a configuration has.
        grouped: whether programs walk GROUP_SIZE_M rows of tiles column by column.
    """
    m, n, k = (problem.shape[name] for name in "MNK")
    counts = _program_counts(tuned, programs)
    order = rules.group_has_effect("GROUP_SIZE_M", ("BLOCK_SIZE_M", m), ("BLOCK_SIZE_N", n))
    smallest = _SMALLEST_BLOCK
    return [
        rules.block_within_problem("BLOCK_SIZE_M", "M", m, at_least=_ROWS_OF_TWO_WARPGROUPS),
        rules.block_within_problem("BLOCK_SIZE_N", "N", n, at_least=smallest),
        rules.block_within_problem("BLOCK_SIZE_K", "K", k, at_least=smallest),
        *([order] if grouped else []),
        threads_have_work(gpu, _tile),
        accumulators_in_registers(gpu, _tile),
        operands_in_shared_memory(gpu, lambda config: operand_bytes(problem, gpu, config)),
        enough_programs(gpu, programs, max(counts)),
        few_enough_programs(gpu, programs, min(counts)),
    ]


def operand_bytes(problem: Problem, gpu: GpuLimits, config: Config) -> int:
    """Shared memory in bytes that the blocks of A and B in flight take at least."""
    m, n, k = (size_of(config, f"BLOCK_SIZE_{name}") for name in "MNK")
    each = rules.element_bytes(problem.dtype)
    warpgroups = uses_warpgroups(gpu, problem.dtype, m, size_of(config, "num_warps"))
    operands = (m * k * each, k * n * each)
    return pipelined_bytes(operands, size_of(config, "num_stages"), warpgroups=warpgroups)


def tiles(problem: Problem, config: Config) -> int:
    """How many blocks of BLOCK_SIZE_M x BLOCK_SIZE_N the product has."""
    rows = -(-problem.shape["M"] // size_of(config, "BLOCK_SIZE_M"))
    return rows * -(-problem.shape["N"] // size_of(config, "BLOCK_SIZE_N"))


def default_blocks(problem: Problem) -> dict[str, int]:
    """Blocks of 128 x 128, or what the product has, in steps of 128 bytes of K."""

    def side(size: int) -> int:
        return min(128, max(_SMALLEST_BLOCK, rules.next_power_of_two(size)))

    m, n, k = (problem.shape[name] for name in "MNK")
    depth = 128 // rules.element_bytes(problem.dtype)
    return {
        "BLOCK_SIZE_M": side(m),
        "BLOCK_SIZE_N": side(n),
        "BLOCK_SIZE_K": min(depth, side(k)),
    }


def _tile(config: Config) -> int:
    return size_of(config, "BLOCK_SIZE_M", "BLOCK_SIZE_N")


def _program_counts(tuned: Sequence[Parameter], programs: Callable[[Config], int]) -> list[int]:
    """How many programs the extreme values of the parameters give."""
    ends = ({p.values[0], p.values[-1]} for p in tuned)
    names = [p.name for p in tuned]
    return [programs(Config(dict(zip(names, values, strict=True)))) for values in product(*ends)]
