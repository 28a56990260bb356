"""Takes elements of a block that is kept, in a place along one dimension: a column, or a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.blocks.buffer import Buffer, loaded, memory_type
from triton_rvv.lowering.blocks.context import Context, Handler
from triton_rvv.lowering.blocks.recipes import Splat
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer, vector_type
from triton_rvv.lowering.loops import materialise
from triton_rvv.lowering.ttir.picked_values import NO_DIMENSION, PICK, PICKED

__all__ = ["HANDLERS"]


class _Picked(Tensor):
    """Elements of an array, in a place that the kernel chooses.

    Places have no sign. One outside of the array reads its last element, and no other memory.

    Args:
        type_: of the result; one element where that is a scalar.
        source: an array in row-major order.
        places: for all elements, or for each.
        along: see `PICK`.
    """

    def __init__(
        self, type_: TensorType, source: Buffer, places: Tensor, along: Sequence[int]
    ) -> None:
        super().__init__(type_, [source, places], cost=4)
        self._source, self._places, self._along = source, places, along

    def evaluate(self, builder: Builder, point: VectorIndex) -> Val:
        element, size_bytes = memory_type(self.element), self.element.size_bytes
        offset, stride, place = self._offsets(builder, point)
        first = builder.element_pointer(
            element, self._source.address(builder, [integer(0)] * len(self._along)), offset
        )
        if place is None and (stride == 1 or point.width == 1):
            value = builder.load(vector_type(element, point.width), first, size_bytes)
        elif place is None and stride == 0:
            value = builder.splat(builder.load(element, first, size_bytes), point.width)
        else:
            lanes = builder.mul(
                builder.iota("i64", point.width), builder.splat(integer(stride), point.width)
            )
            further = lanes if place is None else builder.add(lanes, place)
            addresses = builder.element_pointer(element, first, further)
            value = builder.gather(element, addresses, size_bytes)
        return loaded(builder, value, self.element)

    def _offsets(self, builder: Builder, point: VectorIndex) -> tuple[Val, int, Val | None]:
        """Elements before that of the first lane, and before each next one's; places of lanes."""
        offset, stride, place = integer(0), 0, None
        last, distance = len(self.shape) - 1, self._source.type.elements
        for size, along in zip(self._source.shape, self._along, strict=True):
            distance //= size
            if along == NO_DIMENSION:
                continue
            if along != PICKED:
                step = builder.mul(point.coordinates[along], integer(distance))
                stride += distance if along == last else 0
            elif isinstance(self._places, Splat):
                step = self._inside(builder, self._places.value, size, distance)
            else:
                place = self._inside(builder, self._places.at(builder, point), size, distance)
                continue
            offset = builder.add(offset, step)
        return offset, stride, place

    def _inside(self, builder: Builder, places: Val, size: int, distance: int) -> Val:
        """Elements before a place, with 64 bits, within the dimension."""
        wide = builder.resize(places, "i64", signed=False)
        last = builder.splat(integer(size - 1), wide.width)
        inside = builder.intrinsic("llvm.umin", [wide, last])
        return builder.mul(inside, builder.splat(integer(distance), wide.width))


def _pick(context: Context, operation: Operation) -> None:
    """Into an array at once, since the one that is read may change."""
    value, place = operation.operands
    source = context.tensor(value)
    materialise.prepare(context, [source])
    array = materialise.row_major(context, source)
    is_scalar = not operation.result.shape
    type_ = TensorType((1,), source.element) if is_scalar else operation.result.block
    places = context.tensor(place) if place.shape else Splat(type_, context.scalar(place))
    picked = _Picked(type_, array, places, operation.integers("along"))
    if is_scalar:
        point = VectorIndex((), integer(0), 1)
        context.bind(operation.result, picked.at(context.builder, point))
        return
    taken = context.buffer(type_)
    with materialise.walking(context, [picked]):
        materialise.copy(context, picked, taken)
    context.bind(operation.result, taken)


HANDLERS: Mapping[str, Handler] = {PICK: _pick}
