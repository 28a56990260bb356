"""Search spaces of kernels whose programs each take one tile of the elements, on a GPU."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from foundation.config import Config, ParameterValue
from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.blocks import parameters, size_of
from search_spaces.gpu.options import gpu_of, launch_options
from search_spaces.gpu.products import product_space
from search_spaces.gpu.rules import (
    accumulators_in_registers,
    enough_programs,
    pointers_in_shared_memory,
    threads_have_work,
)
from search_spaces.problem import Problem
from search_spaces.space import SearchSpace

__all__ = ["IMAGE", "PLANE", "ROW_OF_IMAGE", "Side", "tile_space", "vector_space"]

_WARPS = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True)
class Side:
    """One side of a tile.

    Args:
        block: the parameter with its size.
        dimension: of the problem, along which it lies.
        sizes: the parameter's values.
    """

    block: str
    dimension: str
    sizes: Sequence[int]


_ROWS, _COLUMNS = rules.powers_of_two(1, 64), rules.powers_of_two(16, 1024)
PLANE = (Side("BLOCK_SIZE_M", "M", _ROWS), Side("BLOCK_SIZE_N", "N", _COLUMNS))
IMAGE = (Side("BLOCK_SIZE_H", "H", _ROWS), Side("BLOCK_SIZE_W", "W", _COLUMNS))
ROW_OF_IMAGE = {"BLOCK_SIZE_H": 1, "BLOCK_SIZE_W": 1024}  # without tuning
_VECTOR = (Side("BLOCK_SIZE", "N", rules.powers_of_two(64, 65536)),)


def vector_space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Blocks of BLOCK_SIZE of the N elements; 1024 without tuning, as in Triton's tutorials."""
    return tile_space(problem, board, _VECTOR, {"BLOCK_SIZE": 1024})


def tile_space(
    problem: Problem,
    board: BoardInfo,
    sides: Sequence[Side],
    default: Mapping[str, ParameterValue],
    layers: int = 1,
    *,
    gathered: bool = False,
) -> SearchSpace:
    """Tiles with these sides.

    Args:
        problem: the kernel at one shape.
        board: a GPU.
        sides: of a tile.
        default: values of what a user would run without tuning.
        layers: how often the tiles cover the problem, as for each channel of an image.
        gathered: whether a tile's elements are loaded from anywhere, each by its own pointer.
    """
    gpu, shape = gpu_of(board), problem.shape
    tuned = parameters(**{side.block: side.sizes for side in sides}) + launch_options(gpu, _WARPS)

    def programs(config: Config) -> int:
        along = (-(-shape[side.dimension] // size_of(config, side.block)) for side in sides)
        return layers * math.prod(along)

    def tile(config: Config) -> int:
        return size_of(config, *(side.block for side in sides))

    smallest = Config({side.block: side.sizes[0] for side in sides})
    pruning = [
        *(
            rules.block_within_problem(
                side.block, side.dimension, shape[side.dimension], at_least=side.sizes[0]
            )
            for side in sides
        ),
        threads_have_work(gpu, tile),
        accumulators_in_registers(gpu, tile),
        *([pointers_in_shared_memory(gpu, tile)] if gathered else []),
        enough_programs(gpu, programs, programs(smallest)),
    ]
    return product_space(gpu, tuned, default, pruning)
