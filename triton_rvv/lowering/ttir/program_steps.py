"""How far the memory of the next program along an axis of the grid lies."""

from __future__ import annotations

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.lowering.ttir.access_functions import AccessFunctions
from triton_rvv.lowering.ttir.carried_offsets import CARRIES_BASE_OF
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.polynomials import (
    ONE,
    ZERO,
    Atom,
    Extended,
    Polynomial,
    Unknown,
)

__all__ = ["ProgramSteps"]


class ProgramSteps:
    """How much sums grow from a program to the next one along an axis.

    What wraps in 32 bits is not looked at: this is for estimates.
    """

    def __init__(self, kernel: Kernel, sums: AccessFunctions, axis: int) -> None:
        self._sums, self._makers = sums, kernel.makers
        self._loops = [each for each in kernel.operations if each.name == "scf.for"]
        self._counters = {loop.regions[0].block.arguments[0]: loop for loop in self._loops}
        self._ids = {
            each.result
            for each in kernel.operations
            if each.name == "tt.get_program_id" and each.integer("axis") == axis
        }
        self._varying = self._all_varying(kernel)

    def growth(self, total: Polynomial) -> int | None:
        """The growth of a sum; None if it is not known, or not the same for all programs."""
        grown = total.growth(self._of_atom)
        return None if grown is None else self._sums.number(grown)

    def _of_atom(self, atom: Atom) -> Polynomial | None:
        if isinstance(atom, Extended):
            return atom.sum.growth(self._of_atom)
        value = atom.value if isinstance(atom, Unknown) else atom
        if value in self._ids:
            return ONE
        if not isinstance(value, Value) or value not in self._varying:
            return ZERO
        if value in self._counters:
            return self._sums.of(self._counters[value].operands[0]).growth(self._of_atom)
        moved = self._added_by_loop(value) if isinstance(atom, Unknown) else None
        return ZERO if moved is not None and moved.growth(self._of_atom) == ZERO else None

    def _added_by_loop(self, value: Value) -> Polynomial | None:
        """What each turn adds to a block of which a loop carries the base."""
        for loop in self._loops:
            block = loop.regions[0].block
            for place in loop.integers(CARRIES_BASE_OF):
                argument = block.arguments[1 + place]
                if value in (argument, loop.results[place]):
                    yielded = block.operations[-1].operands[place]
                    return self._sums.of(yielded) - self._sums.of(argument)
        return None

    def _all_varying(self, kernel: Kernel) -> set[Value]:
        """All values that may be others in the next program."""
        varying, before = set(self._ids), 0
        while len(varying) > before:
            before = len(varying)
            for operation in kernel.operations:
                if operation.name == "scf.for":
                    varying.update(_varying_in_loop(operation, varying))
                elif any(
                    operand in varying for each in operation.walk() for operand in each.operands
                ):
                    varying.update(operation.results)
        return varying


def _varying_in_loop(loop: Operation, varying: set[Value]) -> set[Value]:
    """What a loop counts and carries of that."""
    block = loop.regions[0].block
    bounds, starts = loop.operands[:3], loop.operands[3:]
    counter, *arguments = block.arguments
    found = {counter} if any(each in varying for each in bounds) else set()
    ends = block.operations[-1].operands
    for argument, result, start, end in zip(arguments, loop.results, starts, ends, strict=True):
        if start in varying or end in varying or counter in found:
            found |= {argument, result}
    return found
