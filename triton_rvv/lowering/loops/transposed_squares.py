"""Blocks that are loaded in squares, which are transposed in registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.tensors import Tensor, recipes_under
from triton_rvv.lowering.blocks.vector_index import PLAIN_VERSION, VectorIndex
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.loops.index_loops import neighbours, positions, steps
from triton_rvv.lowering.loops.vector_shape import vector_width

__all__ = ["Squares", "squares_of"]

# Sides of squares: a larger one leaves no registers for the results.
_SMALLEST_SIDE, _LARGEST_SIDE = 4, 16

T = TypeVar("T")


@dataclass(frozen=True)
class Squares:
    """What is loaded in squares.

    Args:
        loads: each of the shape of the block that is walked over.
        side: of a square, in elements.
    """

    loads: Sequence[Tensor]
    side: int

    def walk(
        self,
        context: Context,
        evaluate: Callable[[VectorIndex], T],
        commit: Callable[[VectorIndex, T], None],
    ) -> None:
        """Walk over the block in its plain version; the arguments are those of `for_each_run`."""
        builder, shape, side = context.builder, self.loads[0].shape, self.side
        for index in positions(context, shape[:-1], False, side):
            for start in steps(context, shape[-1], side, unrolled=False):
                rows = neighbours(context, index, side)
                points = [VectorIndex(row, start, side, PLAIN_VERSION) for row in rows]
                for load in self.loads:
                    for point, row in zip(points, load.square_at(builder, points), strict=True):
                        load.remember(builder, point, row)
                for point in points:
                    commit(point, evaluate(point))


@rule("transpose-squares", nothing)
def squares_of(context: Context, tensors: Sequence[Tensor]) -> Squares | None:
    """What of some blocks is best loaded in squares; None where nothing is.

    Nothing on the way into an array: its panels are filled sooner by gathers of whole runs.
    """
    shape = tensors[0].shape
    lanes = vector_width(context, tensors) // context.target.run_registers
    side = min(*shape[-2:], lanes, _LARGEST_SIDE)
    if len(shape) < 2 or side < _SMALLEST_SIDE or not context.target.transposes_registers:
        return None
    if any(isinstance(tensor, Buffer) for tensor in tensors):
        return None
    below = recipes_under(tensors)
    loads = [t for t in below if t.is_by_column and t.shape == shape and t.materialised is None]
    return Squares(loads, side) if loads else None
