"""`tl.gather`: the elements of a block at positions that another block holds."""

from __future__ import annotations

from collections.abc import Mapping

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.blocks.buffer import Buffer, loaded, memory_type
from triton_rvv.lowering.blocks.context import Context, Handler
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.loops import materialise

__all__ = ["HANDLERS"]


class _Gathered(Tensor):
    """result[.., i, ..] = source[.., positions[.., i, ..], ..] along one dimension.

    Positions have no sign. One outside of the source reads its last element, and no other memory.

    Args:
        type_: the positions' shape and the source's element type.
        source: an array in row-major order.
    """

    def __init__(self, type_: TensorType, source: Buffer, positions: Tensor, axis: int) -> None:
        super().__init__(type_, [source, positions], cost=4)
        self._source = source
        self._positions = positions
        self._axis = axis

    def evaluate(self, builder: Builder, point: VectorIndex) -> Val:
        shape, width = self._source.shape, point.width
        offset = builder.splat(integer(0), width)
        for axis, (size, place) in enumerate(zip(shape, point.coordinates, strict=True)):
            if axis == self._axis:
                chosen = self._inside(builder, self._positions.at(builder, point), size)
            else:
                chosen = builder.splat(place, width)
                if axis == len(shape) - 1:
                    chosen = builder.add(chosen, builder.iota("i64", width))
            offset = builder.mul(offset, builder.splat(integer(size), width))
            offset = builder.add(offset, chosen)
        element, size_bytes = memory_type(self.element), self.element.size_bytes
        first = self._source.address(builder, [integer(0)] * len(shape))
        addresses = builder.element_pointer(element, first, offset)
        value = builder.gather(element, addresses, size_bytes)
        return loaded(builder, value, self.element)

    def _inside(self, builder: Builder, positions: Val, size: int) -> Val:
        """Positions with 64 bits and within the dimension."""
        wide = builder.resize(positions, "i64", signed=False)
        last = builder.splat(integer(size - 1), wide.width)
        return builder.intrinsic("llvm.umin", [wide, last])


def _gather(context: Context, operation: Operation) -> None:
    source, positions = (context.tensor(value) for value in operation.operands)
    materialise.prepare(context, [source])
    array = materialise.row_major(context, source)
    axis = operation.integer("axis")
    context.bind(operation.result, _Gathered(operation.result.block, array, positions, axis))


HANDLERS: Mapping[str, Handler] = {"tt.gather": _gather}
