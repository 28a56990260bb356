"""How far a turn of a loop moves addresses."""

from __future__ import annotations

from collections import Counter

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.lowering.ttir.access_functions import AccessFunctions
from triton_rvv.lowering.ttir.polynomials import (
    ZERO,
    Atom,
    Extended,
    Polynomial,
    Unknown,
    axes_of,
)
from triton_rvv.lowering.ttir.rewriter import blocks_inside

__all__ = ["LoopGrowth"]


class LoopGrowth:
    """How much sums grow from one turn of an `scf.for` to the next.

    What wraps in 32 bits is not looked at. Where there is one turn, its counter grows by nothing,
    but what it carries is moved to where the next program often begins.
    """

    def __init__(self, operation: Operation, sums: AccessFunctions, has_one_turn: bool) -> None:
        self._sums = sums
        self.has_one_turn = has_one_turn
        # With prefetches, a loop that stores and loads several blocks took 4% longer.
        counts = Counter(each.name for each in operation.walk())
        self.waits = not counts["tt.store"] or counts["tt.load"] == 1
        block = operation.regions[0].block
        self.counter, *arguments = block.arguments
        self.start = sums.of(operation.operands[0])
        self._step = operation.operands[2]
        self._yielded = dict(zip(arguments, block.operations[-1].operands, strict=True))
        changing = [each for each in operation.walk() if each is not operation]
        self._changing = {result for each in changing for result in each.results}
        for each in blocks_inside(operation):
            self._changing.update(each.arguments)

    def growth(self, total: Polynomial) -> Polynomial | None:
        """In elements for addresses; None where it is not known, or not one number."""
        return total.growth(self._of_atom)

    def _of_atom(self, atom: Atom) -> Polynomial | None:
        if isinstance(atom, Extended):
            return self.growth(atom.sum)
        value = atom.value if isinstance(atom, Unknown) else atom
        if not isinstance(value, Value) or value not in self._changing:
            return ZERO
        if value is self.counter:
            return ZERO if self.has_one_turn else self._sums.of(self._step)
        if value not in self._yielded or axes_of(atom):
            return None
        grown = self._sums.of(self._yielded[value]) - self._sums.of(value)
        is_known = not any(
            isinstance(each, Value) and each in self._changing for each in grown.atoms
        )
        return grown if is_known else None
