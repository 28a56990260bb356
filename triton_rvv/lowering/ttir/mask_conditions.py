"""Masks as comparisons of sums, as people read them: `512*%pid + i0 < %n & %1`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeGuard

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.lowering.llvm.predicates import CMPI_PREDICATES
from triton_rvv.lowering.ttir.access_functions import AccessFunctions
from triton_rvv.lowering.ttir.polynomials import Polynomial

__all__ = ["Comparison", "MaskConditions"]

_SYMBOLS = {"eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">="}
_PASSED_ON = ("tt.splat", "tt.broadcast", "arith.andi")

# Two sums and how they are compared, or what no sums explain.
Comparison = tuple[Polynomial, str, Polynomial]
_Condition = Comparison | Value


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
        found = self._conditions(mask, lambda axis: axis)
        return " & ".join(dict.fromkeys(map(_as_text, found)))

    def comparisons(self, mask: Value) -> Sequence[Comparison] | None:
        """The conditions of a mask; None where one is no comparison of sums."""
        found = [*self._conditions(mask, lambda axis: axis)]
        known = [*filter(_is_comparison, found)]
        return known if len(known) == len(found) else None

    def _conditions(self, mask: Value, to: Callable[[int], int]) -> Iterator[_Condition]:
        """Those of a mask whose dimension `axis` is `to(axis)` of the block that people see."""
        maker = self._makers.get(mask)
        if maker is None:
            yield mask
        elif maker.name == "arith.cmpi":
            predicate = CMPI_PREDICATES[maker.integer("predicate")]
            left, right = (self._sums.of(each).on_axes(to) for each in maker.operands)
            yield left, predicate, right
        elif maker.name == "tt.expand_dims":
            axis = maker.integer("axis")
            yield from self._conditions(maker.operands[0], lambda own: to(own + (own >= axis)))
        elif maker.name in _PASSED_ON:
            for operand in maker.operands:
                yield from self._conditions(operand, to)
        else:
            yield mask


def _is_comparison(condition: _Condition) -> TypeGuard[Comparison]:
    return isinstance(condition, tuple)


def _as_text(condition: _Condition) -> str:
    if isinstance(condition, Value):
        return condition.name
    left, predicate, right = condition
    return f"{left} {_SYMBOLS.get(predicate, predicate)} {right}"
