"""Which blocks of integers or addresses a loop changes only in their base.

    a_ptrs += BLOCK_K            every element moves by one number: the loop carries the base
    columns += tl.arange(0, 8)   the distances between elements change: it carries an array

A block's root is what is left of it without the sums with one number in every element. A loop
changes only the base of a block that has the same root at the start and at the end of each turn.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import PointerType, ScalarType, TensorType
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import one_integer

__all__ = ["CARRIES_BASE_OF", "carried_by_base", "carry_bases"]

# The attribute of a loop: the numbers of the carried blocks of which it may carry the base.
CARRIES_BASE_OF = "triton_rvv.carries_base_of"

# A block of one number in every element; all of them have the same root.
_UNIFORM = Value("uniform", ScalarType("i64"))
# Operations that give one number of such.
_KEEP_UNIFORM = frozenset(
    f"arith.{name}"
    for name in ("addi", "subi", "muli", "minsi", "maxsi", "divsi", "remsi", "shrsi", "extsi")
)
# Their sums in smaller types may wrap, so they are not taken apart.
_TAKEN_APART = ("i32", "i64")


def carry_bases(kernel: Kernel) -> int:
    """Finds blocks whose base alone a loop changes, so that it carries one number."""
    roots = _Roots(kernel.makers)
    loops = [operation for operation in kernel.operations if operation.name == "scf.for"]
    fired = 0
    for loop in loops:
        blocks = [n for n in range(len(loop.results)) if _is_of_positions(loop.results[n])]
        if blocks:
            carried = [number for number in blocks if number in roots.kept_by(loop)]
            if carried:
                loop.attributes[CARRIES_BASE_OF] = [*carried]
            fired += len(carried)
    return fired


def carried_by_base(loop: Operation, makers: Mapping[Value, Operation]) -> Collection[int]:
    """The numbers of the blocks of which a loop may carry the base alone."""
    return _Roots(makers).kept_by(loop)


def _is_of_positions(value: Value) -> bool:
    if not isinstance(value.type, TensorType):
        return False
    element = value.type.element
    return isinstance(element, PointerType) or element.name in _TAKEN_APART


class _Roots:
    """The roots of a module's blocks."""

    def __init__(self, makers: Mapping[Value, Operation]) -> None:
        self._makers = makers
        # Of arguments of loops, where the loops are taken to keep the root.
        self._assumed: dict[Value, Value] = {}
        self._kept: dict[Operation, frozenset[int]] = {}

    def kept_by(self, loop: Operation) -> frozenset[int]:
        """The numbers of the carried blocks whose root is the same in every turn of a loop.

        All are taken to keep it, until one does not: that one may have been what others were made
        from. What the loops inside keep follows from what this one does.
        """
        if loop in self._kept:
            return self._kept[loop]
        block = loop.regions[0].block
        arguments, yielded = block.arguments[1:], block.operations[-1].operands
        starts = [self._root(value) for value in loop.operands[3:]]
        kept = frozenset(
            number for number, value in enumerate(arguments) if _is_of_positions(value)
        )
        while True:
            for number, argument in enumerate(arguments):
                self._assumed[argument] = starts[number] if number in kept else argument
            left = frozenset(n for n in kept if self._root(yielded[n]) is starts[n])
            self._forget_loops_in(loop)
            if left == kept:
                self._kept[loop] = kept
                return kept
            kept = left

    def _forget_loops_in(self, loop: Operation) -> None:
        for operation in loop.walk():
            self._kept.pop(operation, None)

    def _root(self, value: Value) -> Value:
        if value in self._assumed:
            return self._assumed[value]
        maker = self._makers.get(value)
        if maker is None or not _is_of_positions(value):
            return value
        if maker.name == "tt.splat" or one_integer(maker) is not None:
            return _UNIFORM
        if maker.name == "scf.for":
            number = maker.results.index(value)
            is_kept = number in self.kept_by(maker)
            return self._root(maker.operands[3 + number]) if is_kept else value
        if maker.name != "tt.addptr" and maker.name not in _KEEP_UNIFORM:
            return value
        return self._root_of_result(maker)

    def _root_of_result(self, maker: Operation) -> Value:
        roots = [self._root(operand) for operand in maker.operands]
        if all(root is _UNIFORM for root in roots):
            return _UNIFORM
        first, *others = roots
        if maker.name in ("tt.addptr", "arith.addi", "arith.subi") and others == [_UNIFORM]:
            return first
        if maker.name == "arith.addi" and first is _UNIFORM:
            return others[0]
        return maker.result
