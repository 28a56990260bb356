"""Finds the conditions of masks: comparisons of sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.lowering.llvm.predicates import predicate_of
from triton_rvv.lowering.ttir.access_functions import AccessFunctions
from triton_rvv.lowering.ttir.conditions import Condition

__all__ = ["MaskConditions"]

_PASSED_ON = ("tt.splat", "tt.broadcast", "arith.andi")


class MaskConditions:
    """The conditions of a function's masks."""

    def __init__(self, makers: Mapping[Value, Operation], sums: AccessFunctions) -> None:
        self._makers = makers
        self._sums = sums

    def of(self, mask: Value) -> tuple[Condition, ...]:
        """The comparisons that a mask is made of, and what else it is made of."""
        return tuple(self._conditions(mask, lambda axis: axis))

    def _conditions(self, mask: Value, to: Callable[[int], int]) -> Iterator[Condition]:
        """Those of a mask whose dimension `axis` is `to(axis)` of the block that people see."""
        maker = self._makers.get(mask)
        if maker is None:
            yield mask
        elif maker.name == "arith.cmpi":
            left, right = (self._sums.of(each).on_axes(to) for each in maker.operands)
            yield left, predicate_of(maker), right
        elif maker.name == "tt.expand_dims":
            axis = maker.integer("axis")
            yield from self._conditions(maker.operands[0], lambda own: to(own + (own >= axis)))
        elif maker.name in _PASSED_ON:
            for operand in maker.operands:
                yield from self._conditions(operand, to)
        else:
            yield mask
