"""Search space of the matrix product by descriptors on a GPU."""

from __future__ import annotations

from functools import partial

from foundation.errors import UserError
from rvv_runner.board import BoardInfo
from search_spaces import rules
from search_spaces.blocks import parameters, size_of
from search_spaces.gpu.options import gpu_of, product_options
from search_spaces.gpu.products import default_blocks, product_rules, product_space, tiles
from search_spaces.problem import Problem
from search_spaces.space import Rule, SearchSpace

__all__ = ["space"]

# Of rows that the tensor memory accelerator copies (CUDA's guide to tensor maps).
_ROW_ALIGNMENT_BYTES = 16


def space(problem: Problem, board: BoardInfo) -> SearchSpace:
    """Blocks as in the plain product; a program for each tile, or one for each multiprocessor.

    Raises:
        UserError: for a shape that the GPU's descriptors cannot have.
    """
    gpu = gpu_of(board)
    _check_rows(problem)
    blocks = parameters(
        BLOCK_SIZE_M=rules.powers_of_two(32, 256),
        BLOCK_SIZE_N=rules.powers_of_two(32, 256),
        BLOCK_SIZE_K=rules.powers_of_two(32, 128),
        GROUP_SIZE_M=(1, 4, 8, 16),
        NUM_PROGRAMS=(0, gpu.multiprocessors),
    )
    tuned = blocks + product_options(gpu, warps=(4, 8), stages=range(2, 10))
    pruning = product_rules(problem, gpu, tuned, partial(tiles, problem))
    pruning.append(
        Rule(
            "programs-have-tiles",
            "there is at most one tile for each program, as without NUM_PROGRAMS",
            lambda config: size_of(config, "NUM_PROGRAMS") < tiles(problem, config),
        )
    )
    default = {**default_blocks(problem), "GROUP_SIZE_M": 8, "NUM_PROGRAMS": gpu.multiprocessors}
    return product_space(gpu, tuned, default, pruning)


def _check_rows(problem: Problem) -> None:
    for name in "NK":
        size_bytes = problem.shape[name] * rules.element_bytes(problem.dtype)
        if size_bytes % _ROW_ALIGNMENT_BYTES:
            raise UserError(
                f"a row of {name} = {problem.shape[name]} elements takes {size_bytes} bytes, and "
                f"descriptors need a multiple of {_ROW_ALIGNMENT_BYTES}: tune matmul instead"
            )
