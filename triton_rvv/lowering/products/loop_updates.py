"""Carried blocks that each turn of a loop updates with a product, by the product's own tiles.

    for ...:
        total += dot(a, b) * scale_of_rows[:, None] * scale_of_columns[None, :]

The elements of a tile are in registers when it is complete: the new elements of `total` are
computed from these, and the product has no array of its own. Rows at the edge of a matrix, of which
a product leaves out those that nobody stores, are left out of the update, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.recipes import Elementwise, Splat
from triton_rvv.lowering.blocks.tensors import EXPENSIVE, Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.blocks.views import Broadcast, ExpandDims
from triton_rvv.lowering.llvm.builder import WRITE, Builder
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.loops import materialise
from triton_rvv.lowering.products.accumulator_init import UnfilledAccumulator
from triton_rvv.lowering.ttir.operation_kinds import WITHOUT_MEMORY

__all__ = ["LoopUpdate", "plan_loop_update"]

_ELEMENTWISE = ("arith.", "tt.fp_to_fp")
_AHEAD = (*WITHOUT_MEMORY, "tt.load")
# Runs that are computed side by side, while those before them are written: an in-order core would
# wait for each step of a run alone.
_TOGETHER = 2


@dataclass(frozen=True)
class LoopUpdate:
    """What a turn makes of a carried block and a product.

    Args:
        product: stands for the product in `value`.
        value: the block's new elements, each of those at the same place.
        array: where the block is, before and after.
        width: how many neighbours lie in one piece in all arrays that `value` reads.
    """

    product: Buffer
    value: Tensor
    array: Buffer
    width: int

    def write(self, builder: Builder, points: Sequence[VectorIndex], sums: Sequence[Val]) -> None:
        """Update the block at some points, for which the product's elements are complete."""
        waiting: Sequence[tuple[VectorIndex, Val]] = ()
        places = [*self._pieces(builder, points, sums)]
        for first in range(0, len(places), _TOGETHER):
            some = places[first : first + _TOGETHER]
            new = [(place, self.value.at(builder, place)) for place in some]
            for place, value in waiting:
                self.array.write(builder, place, value)
            waiting = new
        for place, value in waiting:
            self.array.write(builder, place, value)

    def prefetch(self, builder: Builder, points: Sequence[VectorIndex]) -> None:
        """Ask for the block's lines at some points, each of a line at most."""
        for point in points:
            builder.prefetch(self.array.address(builder, point.coordinates), WRITE)

    def _pieces(
        self, builder: Builder, points: Sequence[VectorIndex], sums: Sequence[Val]
    ) -> Iterator[VectorIndex]:
        """Runs as long as the arrays have them, at each of which the product is known."""
        for point, total in zip(points, sums, strict=True):
            width = min(self.width, point.width)
            for offset in range(0, point.width, width):
                start = builder.add(point.start, integer(offset))
                place = VectorIndex(point.index, start, width)
                self.product.remember(builder, place, builder.lanes(total, offset, width))
                yield place


def plan_loop_update(context: Context, operation: Operation, product: Buffer) -> LoopUpdate | None:
    """The update that alone uses a product, and is all that a turn does with the carried block.

    What lies between is lowered ahead, and the block's new value is bound to its array: the
    product has to carry out the update.

    Args:
        context: where the code goes: before the product.
        product: to which its result is bound.
    """
    behind = context.operations_behind(operation)
    value, used = _last_value(operation.result, behind)
    if len(product.shape) != 2 or used < 0 or value is operation.result:
        return None
    needed = _needed_for(value, behind[: used + 1])
    if needed is None:
        return None
    for each in needed:
        context.lower_ahead(each)
    tensor = context.tensor(value)
    for line in _lines(tensor):
        materialise.materialise(context, line)
    carried = _carried_block(context, tensor, product)
    if carried is None:
        return None
    context.bind(value, carried.alias())
    return LoopUpdate(product, tensor, carried, _width(tensor, carried))


def _last_value(value: Value, behind: Sequence[Operation]) -> tuple[Value, int]:
    """What element-wise operations make of a value that each of them alone uses.

    Returns:
        The last value, which no operation uses, and the place of the one that makes it.
    """
    made_by = 0
    for place, operation in enumerate(behind):
        if value not in operation.operands:
            continue
        if value.uses != 1 or not operation.name.startswith(_ELEMENTWISE):
            break
        value, made_by = operation.result, place
    is_used = any(value in op.operands for each in behind for op in each.walk())
    return value, -1 if is_used or value.uses != 1 else made_by


def _needed_for(value: Value, operations: Sequence[Operation]) -> list[Operation] | None:
    """Those of the operations that a value is computed by; None where they cannot come early."""
    needed: list[Operation] = []
    wanted = {value}
    for operation in reversed(operations):
        is_memory_safe = operation.name.startswith(_AHEAD)
        if not is_memory_safe and not _reads_no_more(operation):
            return None
        if wanted.isdisjoint(operation.results):
            continue
        if not is_memory_safe or not _is_small(operation):
            return None
        needed.append(operation)
        wanted.update(operation.operands)
    return needed[::-1] or None


def _reads_no_more(operation: Operation) -> bool:
    """Whether loads behind an operation may come before it: it changes no memory."""
    return operation.name.startswith("tt.dot")


def _is_small(operation: Operation) -> bool:
    """Whether an operation is no load, or loads a vector or a number, such as scales."""
    if operation.name != "tt.load":
        return True
    type_ = operation.result.type
    return not isinstance(type_, TensorType) or len(type_.shape) == 1


def _lines(tensor: Tensor) -> Iterator[Tensor]:
    """The vectors that are repeated for all rows or columns, and take more than a load."""
    for each in list(tensor.walk()):
        if isinstance(each, ExpandDims) and not isinstance(each.operands[0], Buffer | Splat):
            yield each.operands[0]


def _carried_block(context: Context, value: Tensor, product: Buffer) -> Buffer | None:
    """The array that the new elements of `value` replace one by one; None where that is no such
    update."""
    blocks = [each for each in value.walk() if isinstance(each, Buffer)]
    own = [
        each
        for each in blocks
        if each is not product
        and not isinstance(each, UnfilledAccumulator)
        and each.type == value.type
        and each.uses == 1
        and context.is_local(each)
    ]
    is_plain = all(each.materialised or _is_plain(each) for each in value.walk())
    if len(own) != 1 or product not in blocks or not is_plain:
        return None
    return own[0]


def _is_plain(tensor: Tensor) -> bool:
    """Whether some instructions make a few elements, wherever a tile has them."""
    if isinstance(tensor, Elementwise):
        return tensor.own_cost < EXPENSIVE
    return isinstance(tensor, Broadcast | ExpandDims | Splat | Buffer)


def _width(value: Tensor, carried: Buffer) -> int:
    """Neighbours that lie in one piece in all arrays of the block's shape."""
    arrays = [each for each in value.walk() if isinstance(each, Buffer)]
    return min([carried.panel, *(each.panel for each in arrays if each.shape == value.shape)])
