"""Pruning rules for GPUs: each has a name and says why it prunes a configuration.

What a compiler would report only after seconds is told from the sizes of blocks here.
`tests/gpu_runner/test_gpu_spaces.py` compares the estimates with what Triton compiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from foundation.config import Config
from foundation.gpu_limits import GpuLimits
from search_spaces.space import Rule

__all__ = [
    "accumulators_in_registers",
    "enough_programs",
    "few_enough_programs",
    "operands_in_shared_memory",
    "pipelined_bytes",
    "pointers_in_shared_memory",
    "threads_have_work",
    "uses_warpgroups",
]

# Triton multiplies with a warpgroup's instructions (wgmma) on Hopper if a block has this many rows
# and a program this many warps. They read shared memory while the next loads arrive, so they need
# one buffer more than other products.
_WARPGROUP_ARCH = "sm_90"
_WARPGROUP_ROWS = 64
_WARPGROUP_WARPS = 4

_POINTER_BYTES = 8

# A GPU with fewer programs than a quarter of its multiprocessors is mostly idle.
_FEWEST_PER_MULTIPROCESSOR = 1 / 4
# Beyond this number, programs are so small that their set-up and their loads cost more than their
# work. Both numbers are guesses, so configurations beyond them are only tried later.
_MOST_PER_MULTIPROCESSOR = 64


def uses_warpgroups(gpu: GpuLimits, dtype: str, rows: int, warps: int) -> bool:
    """Whether Triton multiplies blocks with the instructions of a warpgroup.

    Args:
        gpu: the GPU.
        dtype: element type of the operands.
        rows: of the product's block.
        warps: of the program.
    """
    on_tensor_cores = gpu.arch == _WARPGROUP_ARCH and dtype != "fp32"
    return on_tensor_cores and rows >= _WARPGROUP_ROWS and warps >= _WARPGROUP_WARPS


def pipelined_bytes(operands: Sequence[int], stages: int, *, warpgroups: bool) -> int:
    """Shared memory that the operands of a loop of products take at least, in bytes.

    Args:
        operands: size of each operand's block in bytes.
        stages: steps of the loop in flight.
        warpgroups: whether `uses_warpgroups`.
    """
    if stages == 1:
        return max(operands)  # one after the other
    return sum(operands) * (stages if warpgroups else stages - 1)


def operands_in_shared_memory(gpu: GpuLimits, needed_bytes: Callable[[Config], int]) -> Rule:
    """The blocks that a program keeps in shared memory fit there.

    Args:
        gpu: the GPU.
        needed_bytes: their size in bytes.
    """
    return Rule(
        "shared-memory",
        f"the blocks in flight take more than the {gpu.shared_bytes // 1024} KiB of shared memory "
        f"that a program can have on {gpu.name}",
        lambda config: needed_bytes(config) <= gpu.shared_bytes,
    )


def pointers_in_shared_memory(gpu: GpuLimits, elements: Callable[[Config], int]) -> Rule:
    """The pointers of a gathered tile fit in shared memory, where Triton may have to sort them.

    Triton 3.6 does so for most tiles whose elements are gathered one by one, and 3.7 does not.

    Args:
        gpu: the GPU.
        elements: of the tile.
    """
    return Rule(
        "pointers-in-shared-memory",
        f"the tile's pointers may take more than the {gpu.shared_bytes // 1024} KiB of shared "
        f"memory that a program can have on {gpu.name}",
        lambda config: _POINTER_BYTES * elements(config) <= gpu.shared_bytes,
    )


def accumulators_in_registers(gpu: GpuLimits, elements: Callable[[Config], int]) -> Rule:
    """A thread's part of the blocks that a program keeps in registers leaves room for others.

    With more, registers are spilled to memory, and Triton takes up to a minute to compile.

    Args:
        gpu: the GPU.
        elements: their number of 32-bit elements.
    """
    return Rule(
        "accumulators-in-registers",
        f"a thread's part of the sums takes all of its {gpu.registers_per_thread} registers",
        lambda config: elements(config) < gpu.registers_per_thread * _threads(gpu, config),
    )


def threads_have_work(gpu: GpuLimits, elements: Callable[[Config], int]) -> Rule:
    """A block has an element for each thread of its program.

    Args:
        gpu: the GPU.
        elements: the block's number of elements.
    """
    return Rule(
        "threads-have-work",
        "the block has fewer elements than the program has threads, so warps repeat the same work",
        lambda config: elements(config) >= _threads(gpu, config),
    )


def enough_programs(gpu: GpuLimits, programs: Callable[[Config], int], most: int) -> Rule:
    """There are programs for a quarter of the multiprocessors, if the problem has as many.

    Args:
        gpu: the GPU.
        programs: how many programs a configuration has.
        most: the most that any configuration of the space has.
    """
    least = min(round(gpu.multiprocessors * _FEWEST_PER_MULTIPROCESSOR), most)
    return Rule(
        "enough-programs",
        f"fewer than {least} programs leave most of the {gpu.multiprocessors} multiprocessors idle",
        lambda config: programs(config) >= least,
        soft=True,
    )


def few_enough_programs(gpu: GpuLimits, programs: Callable[[Config], int], fewest: int) -> Rule:
    """Programs of a product are not so small that their loads cost more than their work.

    Args:
        gpu: the GPU.
        programs: how many programs a configuration has.
        fewest: the fewest that any configuration of the space has.
    """
    most = max(gpu.multiprocessors * _MOST_PER_MULTIPROCESSOR, fewest)
    return Rule(
        "few-enough-programs",
        f"more than {most} programs do too little work each",
        lambda config: programs(config) <= most,
        soft=True,
    )


def _threads(gpu: GpuLimits, config: Config) -> int:
    return int(config["num_warps"]) * gpu.warp_threads
