"""Which dimensions of a function's blocks are one: they have one size, and elements meet there.

%rows = "tt.make_range"()                                   of one dimension
%at = "tt.expand_dims"(%rows) {axis = 1}                    its first is that of %rows
%both = "arith.addi"(%at, %other)                           so is the first of %other and %both
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.lowering.ttir.operation_kinds import ADDRESSES, ELEMENTWISE

__all__ = ["Dimension", "dimensions_of"]

# A dimension of a block: the block, and which of its dimensions.
_Place = tuple[Value, int]
# Elements are functions of the operands' elements at the same place, or lead to memory there.
_AT_SAME_PLACE = (*ELEMENTWISE, *ADDRESSES, "tt.load", "tt.store")
_NOTHING_MEETS = frozenset(
    ["tt.splat", "tt.make_range", "tt.return", "arith.constant", "llvm.intr.assume"]
)


@dataclass(eq=False)
class Dimension:
    """A dimension that blocks share.

    Attributes:
        places: the blocks, and which of their dimensions it is.
        is_whole: whether something needs all of it at once, such as a sum along it.
    """

    places: list[_Place] = field(default_factory=list)
    is_whole: bool = False

    @property
    def size(self) -> int:
        """The elements along it."""
        block, axis = self.places[0]
        return block.shape[axis]

    @property
    def blocks(self) -> frozenset[Value]:
        """The blocks that have it."""
        return frozenset(block for block, _ in self.places)

    @property
    def is_once_in_each(self) -> bool:
        """Whether no block has it twice, as that of all pairs of the same elements has."""
        return len(self.blocks) == len(self.places)


def dimensions_of(function: Operation) -> Mapping[_Place, Dimension]:
    """Every dimension of more than one element, by each of its places."""
    return _Union(function).found


class _Union:
    """Joins the dimensions of a function, one operation after another."""

    def __init__(self, function: Operation) -> None:
        self.found: dict[_Place, Dimension] = {}
        for operation in function.walk():
            if operation is not function:
                self._read(operation)

    def _read(self, operation: Operation) -> None:
        values = [*operation.operands, *operation.results]
        for value in values:
            for axis in range(len(value.shape)):
                self._dimension((value, axis))
        rule = _RULES.get(operation.name)
        if rule is not None:
            rule(self, operation)
        elif operation.name.startswith(_AT_SAME_PLACE):
            self._join_all(values)
        elif operation.name not in _NOTHING_MEETS and not _ends_a_region(operation):
            self._keep_whole(values)

    def _dimension(self, place: _Place) -> Dimension:
        if place not in self.found:
            self.found[place] = Dimension([place])
        return self.found[place]

    def _join(self, one: _Place, other: _Place) -> None:
        kept, gone = self._dimension(one), self._dimension(other)
        if kept is not gone:
            kept.is_whole |= gone.is_whole
            kept.places += gone.places
            self.found.update(dict.fromkeys(gone.places, kept))

    def _join_all(self, values: Sequence[Value]) -> None:
        blocks = [value for value in values if value.shape]
        for one, other in itertools.pairwise(blocks):
            for axis in range(len(one.shape)):
                self._join((one, axis), (other, axis))

    def _keep_whole(self, values: Sequence[Value], but: int = 0) -> None:
        """Note of dimensions, but the first ones, that something needs all of them at once."""
        for value in values:
            for axis in range(but, len(value.shape)):
                self._dimension((value, axis)).is_whole = True

    # -- rules ---------------------------------------------------------------------------------

    def _expand(self, operation: Operation) -> None:
        new, (operand,) = operation.integer("axis"), operation.operands
        for axis in range(len(operand.shape)):
            self._join((operand, axis), (operation.result, axis + (axis >= new)))

    def _broadcast(self, operation: Operation) -> None:
        operand, result = operation.operands[0], operation.result
        for axis, sizes in enumerate(zip(operand.shape, result.shape, strict=True)):
            if sizes[0] == sizes[1]:
                self._join((operand, axis), (result, axis))

    def _transpose(self, operation: Operation) -> None:
        for axis, source in enumerate(operation.integers("order")):
            self._join((operation.operands[0], source), (operation.result, axis))

    def _reshape(self, operation: Operation) -> None:
        operand, result = operation.operands[0], operation.result
        sizes = zip(operand.shape, result.shape, strict=False)
        same = len([*itertools.takewhile(lambda pair: pair[0] == pair[1], sizes)])
        for axis in range(same):
            self._join((operand, axis), (result, axis))
        self._keep_whole([operand, result], but=same)

    def _reduce(self, operation: Operation) -> None:
        self._join_all(operation.operands)
        along = operation.integer("axis")
        for operand in operation.operands:
            self._dimension((operand, along)).is_whole = True
            for axis in range(len(operand.shape) - 1):
                for result in operation.results:
                    self._join((operand, axis + (axis >= along)), (result, axis))

    def _for(self, operation: Operation) -> None:
        block = operation.regions[0].block
        yielded = block.operations[-1].operands
        arguments = block.arguments[1:]
        for values in zip(
            operation.operands[3:], arguments, yielded, operation.results, strict=True
        ):
            self._join_all(values)

    def _if(self, operation: Operation) -> None:
        for region in operation.regions:
            if region.blocks:
                yielded = region.block.operations[-1].operands
                for values in zip(yielded, operation.results, strict=True):
                    self._join_all(values)


_RULES: Mapping[str, Callable[[_Union, Operation], None]] = {
    "tt.expand_dims": _Union._expand,
    "tt.broadcast": _Union._broadcast,
    "tt.trans": _Union._transpose,
    "tt.reshape": _Union._reshape,
    "tt.reduce": _Union._reduce,
    "scf.for": _Union._for,
    "scf.if": _Union._if,
}


def _ends_a_region(operation: Operation) -> bool:
    return operation.name in ("scf.yield", "tt.reduce.return")
