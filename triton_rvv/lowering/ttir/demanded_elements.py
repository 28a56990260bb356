"""Which part of each block anybody asks for, found backwards from the kernel's stores.

Programs at the edge of a matrix compute a whole block and store a part of it: what the mask of the
store leaves out is never read. For each value and each of its dimensions, `DemandedElements` knows
the masks by which alone its elements leave the kernel. Everything that is not known to work row by
row demands whole blocks.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.ttir.operation_kinds import ELEMENTWISE

__all__ = ["DemandedElements", "MaskAxis"]

# A dimension of a store's mask: elements beyond its last true one are not wanted.
MaskAxis = tuple[Value, int]
# By which masks a dimension is wanted; None if by anything else too.
_Masks = frozenset[MaskAxis] | None

_NOBODY: _Masks = frozenset()


class DemandedElements:
    """What is wanted of the blocks of a module."""

    def __init__(self, functions: Collection[Operation]) -> None:
        self._masks: dict[Value, list[_Masks]] = {}
        self._changed = True
        while self._changed:
            self._changed = False
            for function in functions:
                for block in reversed(function.regions[0].blocks):
                    self._block(block, None)

    def masks(self, value: Value, axis: int) -> frozenset[MaskAxis]:
        """The masks by which a dimension of a block is wanted; none if all of it is."""
        return self._of(value)[axis] or frozenset()

    def _of(self, value: Value) -> list[_Masks]:
        return self._masks.setdefault(value, [_NOBODY] * len(value.shape))

    def _want(self, value: Value, more: Sequence[_Masks]) -> None:
        wanted = self._of(value)
        for axis, masks in enumerate(more):
            before = wanted[axis]
            wanted[axis] = None if before is None or masks is None else before | masks
            self._changed |= wanted[axis] != before

    def _want_all(self, values: Iterable[Value]) -> None:
        for value in values:
            self._want(value, [None] * len(self._of(value)))

    def _block(self, block: Block, yielded_to: Sequence[Sequence[Value]] | None) -> None:
        """A block from its end; what it yields becomes each of the lists of values."""
        *operations, terminator = block.operations
        if yielded_to is None:
            self._want_all(terminator.operands)
        for values in yielded_to or ():
            for operand, value in zip(terminator.operands, values, strict=True):
                self._want(operand, self._of(value))
        for operation in reversed(operations):
            self._operation(operation)

    def _operation(self, operation: Operation) -> None:
        handler = _HANDLERS.get(operation.name)
        if handler is not None:
            handler(self, operation)
        elif operation.name.startswith((*ELEMENTWISE, "tt.bitcast")):
            for operand in operation.operands:
                if isinstance(operand.type, TensorType):
                    self._want(operand, self._of(operation.result))
        else:
            self._want_all(operation.operands)
            for region in operation.regions:
                for block in region.blocks:
                    self._block(block, None)

    def _store(self, operation: Operation) -> None:
        address, value, *rest = operation.operands
        self._want_all([address, *rest])
        rank = len(self._of(value))
        mask = rest[0] if rest else None
        self._want(value, [None if mask is None else frozenset([(mask, a)]) for a in range(rank)])

    def _dot(self, operation: Operation) -> None:
        left, right, start = operation.operands
        *batch, rows, columns = self._of(operation.result)
        self._want(left, [*batch, rows, None])
        self._want(right, [*batch, None, columns])
        self._want(start, [*batch, rows, columns])

    def _reduce(self, operation: Operation) -> None:
        axis = operation.integer("axis")
        for result in operation.results:
            wanted = self._of(result)
            for operand in operation.operands:
                self._want(operand, [*wanted[:axis], None, *wanted[axis:]])

    def _expand_dims(self, operation: Operation) -> None:
        axis, wanted = operation.integer("axis"), self._of(operation.result)
        self._want(operation.operands[0], [*wanted[:axis], *wanted[axis + 1 :]])

    def _broadcast(self, operation: Operation) -> None:
        (operand,), wanted = operation.operands, self._of(operation.result)
        sizes = operand.shape
        pairs = zip(sizes, wanted, strict=True)
        self._want(operand, [None if size == 1 else masks for size, masks in pairs])

    def _trans(self, operation: Operation) -> None:
        order, wanted = operation.integers("order"), self._of(operation.result)
        self._want(operation.operands[0], [wanted[order.index(a)] for a in range(len(order))])

    def _for(self, operation: Operation) -> None:
        block = operation.regions[0].block
        carried = block.arguments[1:]
        inside = _made_in(operation)
        for argument in carried:  # what a turn stores says nothing of what the one before made
            masks = self._of(argument)
            self._want(argument, [None if _has_one_of(m, inside) else _NOBODY for m in masks])
        self._block(block, [operation.results, carried])
        self._want_all(operation.operands[:3])
        for initial, argument in zip(operation.operands[3:], carried, strict=True):
            self._want(initial, self._of(argument))
        for initial, result in zip(operation.operands[3:], operation.results, strict=True):
            self._want(initial, self._of(result))

    def _if(self, operation: Operation) -> None:
        for region in operation.regions:
            for block in region.blocks:
                self._block(block, [operation.results])


def _made_in(loop: Operation) -> frozenset[Value]:
    """Every value of a loop that may be another one in each turn."""
    operations = list(loop.walk())
    blocks = [block for each in operations for region in each.regions for block in region.blocks]
    made = [each.results for each in operations] + [block.arguments for block in blocks]
    return frozenset(itertools.chain.from_iterable(made))


def _has_one_of(masks: _Masks, values: frozenset[Value]) -> bool:
    return masks is not None and any(mask in values for mask, _ in masks)


_HANDLERS: Mapping[str, Callable[[DemandedElements, Operation], None]] = {
    "tt.store": DemandedElements._store,
    "tt.atomic_rmw": DemandedElements._store,
    "tt.dot": DemandedElements._dot,
    "tt.reduce": DemandedElements._reduce,
    "tt.expand_dims": DemandedElements._expand_dims,
    "tt.broadcast": DemandedElements._broadcast,
    "tt.trans": DemandedElements._trans,
    "scf.for": DemandedElements._for,
    "scf.if": DemandedElements._if,
}
