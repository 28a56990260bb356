"""Masks as comparisons of sums, as people read them: `512*%pid + i0 < %n & %1`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.lowering.llvm.predicates import CMPI_PREDICATES
from triton_rvv.lowering.ttir.access_functions import AccessFunctions

__all__ = ["MaskConditions"]

_SYMBOLS = {"eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">="}
_PASSED_ON = ("tt.splat", "tt.broadcast", "arith.andi")


class MaskConditions:
    """The conditions of a function's masks.

    Args:
        function: a `tt.func`.
        sums: its integers.
    """

    def __init__(self, function: Operation, sums: AccessFunctions) -> None:
        self._makers = {result: each for each in function.walk() for result in each.results}
        self._sums = sums

    def of(self, mask: Value) -> str:
        """The comparisons that a mask is made of, and the names of what else it is made of."""
        return " & ".join(dict.fromkeys(self._conditions(mask, lambda axis: axis)))

    def _conditions(self, mask: Value, to: Callable[[int], int]) -> Iterator[str]:
        """Those of a mask whose dimension `axis` is `to(axis)` of the block that people see."""
        maker = self._makers.get(mask)
        if maker is None:
            yield mask.name
        elif maker.name == "arith.cmpi":
            predicate = CMPI_PREDICATES[maker.integer("predicate")]
            left, right = (self._sums.of(each).on_axes(to) for each in maker.operands)
            yield f"{left} {_SYMBOLS.get(predicate, predicate)} {right}"
        elif maker.name == "tt.expand_dims":
            axis = maker.integer("axis")
            yield from self._conditions(maker.operands[0], lambda own: to(own + (own >= axis)))
        elif maker.name in _PASSED_ON:
            for operand in maker.operands:
                yield from self._conditions(operand, to)
        else:
            yield mask.name
