"""The options of Triton's compilers for GPUs that are tuned beside a kernel's own parameters."""

from __future__ import annotations

from collections.abc import Sequence

from foundation.errors import UserError
from foundation.gpu_limits import GpuLimits
from rvv_runner.board import BoardInfo
from search_spaces.space import Parameter

__all__ = ["gpu_of", "launch_options", "product_options"]

# Waves that the compiler should fit on an execution unit; 0 leaves it to the compiler.
_WAVES = Parameter("waves_per_eu", (0, 1, 2, 4))
# Side of a matrix instruction's result, and how many of them a load of K feeds.
_INSTRUCTION = Parameter("matrix_instr_nonkdim", (16, 32))
_KPACK = Parameter("kpack", (1, 2))
# Triton takes kpack on these; later ones ignore it.
_KPACK_ARCHS = ("gfx90a", "gfx942")


def gpu_of(board: BoardInfo) -> GpuLimits:
    """The limits of a board that is a GPU.

    Raises:
        UserError: if it is none.
    """
    if board.gpu is None:
        raise UserError(f"{board.name} is not a GPU, and this search space is for GPUs")
    return board.gpu


def launch_options(
    gpu: GpuLimits, warps: Sequence[int] = (1, 2, 4, 8, 16), stages: Sequence[int] = ()
) -> tuple[Parameter, ...]:
    """Parameters for a kernel without products.

    Args:
        gpu: the GPU.
        warps: numbers of warps.
        stages: numbers of steps in flight; none for a kernel without a loop that is pipelined.
    """
    fitting = [count for count in warps if count * gpu.warp_threads <= gpu.threads_per_program]
    options = [Parameter("num_warps", tuple(fitting))]
    if stages:
        options.append(Parameter("num_stages", tuple(stages)))
    return (*options, *([_WAVES] if gpu.is_amd else []))


def product_options(
    gpu: GpuLimits, warps: Sequence[int] = (2, 4, 8), stages: Sequence[int] = (1, 2, 3, 4)
) -> tuple[Parameter, ...]:
    """Parameters for a kernel with products: on AMD, those of its matrix instructions too."""
    if not gpu.is_amd:
        return launch_options(gpu, warps, stages)
    kpack = [_KPACK] if gpu.arch in _KPACK_ARCHS else []
    return (*launch_options(gpu, warps, stages), _INSTRUCTION, *kpack)
