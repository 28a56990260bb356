"""Which of a kernel's pointers can lead to the same memory.

Triton promises that a load of a block happens before a later store, whoever points there. Two
pointers overlap, for all that is known, where they come from the same argument of the kernel, or
where it is not known where one comes from. Different arguments may also lead to the same memory.
That matters only where a store writes what is loaded on the way. Code finds out there at run time
whether it does, or relies on the arguments to be disjoint, and notes which of them have to be.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import PointerType, TensorType, element_type

__all__ = ["Aliases", "Apart"]

# Operations whose result leads to where these operands lead.
_PASSED_ON = {
    "tt.addptr": (0,),
    "tt.splat": (0,),
    "tt.broadcast": (0,),
    "tt.expand_dims": (0,),
    "tt.reshape": (0,),
    "tt.bitcast": (0,),
    "arith.select": (1, 2),
}
# Those that lead as far from their first operand as the other ones and the attributes say.
_MOVES = frozenset(_PASSED_ON) - {"arith.select"}


@dataclass(frozen=True, order=True)
class Apart:
    """Two arguments that generated code takes to lead to different memory.

    Args:
        loaded: the number of the argument that is loaded from.
        stored: the number of the argument that is stored to.
        may_be_equal: whether both may also be the same address: the code then loads each element
            right before it stores to that element.
    """

    loaded: int
    stored: int
    may_be_equal: bool


class Aliases:
    """The origins of every pointer in a function.

    Args:
        function: a `tt.func`; control flow inside is structured.
    """

    def __init__(self, function: Operation, arguments_are_disjoint: bool) -> None:
        self.arguments_are_disjoint = arguments_are_disjoint
        sources: dict[Value, list[Value]] = {}
        self._made_by: dict[Value, Operation] = {}
        self._carried_by: dict[Value, Block] = {}
        for operation in function.walk():
            _collect(operation, sources)
            if operation.name in _MOVES:
                self._made_by[operation.result] = operation
            for region in operation.regions:
                for block in region.blocks:
                    self._carried_by.update(dict.fromkeys(block.arguments, block))
        arguments = function.regions[0].blocks[0].arguments
        self._arguments = {argument: number for number, argument in enumerate(arguments)}
        self._sources: Mapping[Value, list[Value]] = sources
        self._apart: dict[tuple[int, int], bool] = {}

    @property
    def apart(self) -> tuple[Apart, ...]:
        """The arguments that have to be apart."""
        return tuple(sorted(Apart(*pair, equal) for pair, equal in self._apart.items()))

    def may_overlap(self, left: Value, right: Value) -> bool:
        """Whether one pointer, or block of pointers, can lead to memory of the other.

        That two arguments may lead to the same memory does not count here.
        """
        ours, theirs = self.origins(left), self.origins(right)
        known = (ours | theirs) <= self._arguments.keys()
        return not known or not ours.isdisjoint(theirs)

    def arguments_of(self, pointer: Value) -> frozenset[int] | None:
        """The numbers of the arguments that a pointer may come from; None where others may be."""
        origins = self.origins(pointer)
        if not origins <= self._arguments.keys():
            return None
        return frozenset(self._arguments[origin] for origin in origins)

    def rely_on_apart(self, loaded: Value, stored: Value, each_on_its_own: bool) -> None:
        """Note that code is right only where the arguments that these two come from are apart.

        Args:
            loaded, stored: pointers or blocks of pointers, which do not overlap otherwise.
            each_on_its_own: whether each element is stored right after it has been loaded, and no
                two elements of `loaded` share an address.
        """
        origins = self.origins(loaded), self.origins(stored)
        equal = (
            each_on_its_own
            and all(len(values) == 1 for values in origins)
            and self._is_same_place(loaded, stored, frozenset())
        )
        for one, other in itertools.product(*origins):
            pair = (self._arguments[one], self._arguments[other])
            self._apart[pair] = equal and self._apart.get(pair, True)

    def _is_same_place(
        self, left: Value, right: Value, assumed: frozenset[tuple[Value, Value]]
    ) -> bool:
        """Whether two pointers are the same if the arguments that they come from are.

        Args:
            left, right: pointers or blocks of pointers.
            assumed: pairs taken to be so: what a loop carries is so if it starts and stays so.
        """
        if left is right or (left, right) in assumed:
            return True
        if left in self._arguments and right in self._arguments:
            return True
        if left in self._carried_by and self._carried_by[left] is self._carried_by.get(right):
            carried = zip(self._sources[left], self._sources[right], strict=True)
            assumed |= {(left, right)}
            return all(self._is_same_place(*pair, assumed) for pair in carried)
        ours, theirs = self._made_by.get(left), self._made_by.get(right)
        return (
            ours is not None
            and theirs is not None
            and _step(ours) == _step(theirs)
            and self._is_same_place(ours.operands[0], theirs.operands[0], assumed)
        )

    def origins(self, pointer: Value) -> set[Value]:
        """The values that a pointer is made from, as far back as can be followed."""
        origins, seen, waiting = set[Value](), {pointer}, [pointer]
        while waiting:
            value = waiting.pop()
            if value not in self._sources:
                origins.add(value)
            for source in self._sources.get(value, ()):
                if source not in seen:
                    seen.add(source)
                    waiting.append(source)
        return origins


def _collect(operation: Operation, sources: dict[Value, list[Value]]) -> None:
    """Add where the results and inner arguments of one operation come from."""
    if operation.name in _PASSED_ON:
        operands = (operation.operands[index] for index in _PASSED_ON[operation.name])
        _extend(sources, operation.results, [list(operands)])
    elif operation.name == "scf.for":
        block = operation.regions[0].block
        carried = [operation.operands[3:], _yielded(block)]
        _extend(sources, operation.results, zip(*carried, strict=True))
        _extend(sources, block.arguments[1:], zip(*carried, strict=True))
    elif operation.name == "scf.while":
        before, after = (region.block for region in operation.regions)
        carried = [operation.operands, _yielded(after)]
        _extend(sources, before.arguments, zip(*carried, strict=True))
        for targets in (operation.results, after.arguments):
            _extend(sources, targets, ([value] for value in _yielded(before)[1:]))
    elif operation.name == "scf.if":
        sides = [_yielded(region.block) for region in operation.regions if region.blocks]
        _extend(sources, operation.results, zip(*sides, strict=False))


def _yielded(block: Block) -> list[Value]:
    return block.operations[-1].operands


def _extend(
    sources: dict[Value, list[Value]], targets: Iterable[Value], origins: Iterable[Iterable[Value]]
) -> None:
    for target, found in zip(targets, origins, strict=False):
        sources.setdefault(target, []).extend(found)


def _step(move: Operation) -> tuple[object, ...]:
    """How far, and by elements of what size, an operation leads from its first operand."""
    type_ = move.result.type
    shape = type_.shape if isinstance(type_, TensorType) else None
    element = element_type(type_)
    assert isinstance(element, PointerType)
    assert not isinstance(element.pointee, TensorType)
    return move.name, move.operands[1:], move.attributes, shape, element.pointee.size_bytes
