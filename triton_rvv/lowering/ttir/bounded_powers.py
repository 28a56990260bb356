"""Marks exponentials of numbers that are not large, which take less: they never overflow.

    p = exp(x - max(x))

Found from the operations of a kernel: a difference from something that is no less, as in a softmax;
what has the opposite sign of a square or a size; a minimum with a constant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType, element_type
from triton_rvv.lowering.ttir.combining import operation_of_each
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import one_number

__all__ = ["IS_BOUNDED", "LIMIT", "mark_bounded_powers"]

# The attribute of an exponential of numbers up to LIMIT, or NaN.
IS_BOUNDED = "triton_rvv.is_bounded"
LIMIT = 40.0

# Expressions are shallow where it matters.
_DEPTH = 12
_MOVES = ("tt.expand_dims", "tt.broadcast", "tt.splat", "tt.reshape", "arith.extf", "tt.trans")
_MAXIMA = ("arith.maxnumf", "arith.maximumf")
_MINIMA = ("arith.minnumf", "arith.minimumf")
_NEVER_NEGATIVE = ("math.absf", "math.exp", "math.exp2", "math.sqrt")


def mark_bounded_powers(kernel: Kernel) -> int:
    """Finds exponentials that cannot overflow, which take fewer instructions."""
    operations = kernel.module.walk()
    makers = {result: operation for operation in operations for result in operation.results}
    signs, fired = _Signs(makers), 0
    for operation in makers.values():
        is_power = operation.name in ("math.exp", "math.exp2")
        if is_power and signs.is_bounded(operation.operands[0], _DEPTH):
            operation.attributes[IS_BOUNDED] = True
            fired += 1
    return fired


class _Signs:
    """What is known of the numbers in a kernel's values, besides NaN."""

    def __init__(self, makers: Mapping[Value, Operation]) -> None:
        self._makers = makers

    def is_bounded(self, value: Value, depth: int) -> bool:
        """Whether no element is above the limit."""
        if (number := self._constant(value)) is not None:
            return number <= LIMIT
        maker = self._maker(value, depth)
        if maker is None:
            return False
        first, *others = maker.operands
        if maker.name in _MOVES:
            return self.is_bounded(first, depth - 1)
        if maker.name in _MINIMA:  # with a constant: of anything else, NaN lets the other one pass
            numbers = map(self._constant, maker.operands)
            return any(number is not None and number <= LIMIT for number in numbers)
        if maker.name == "arith.select":
            return all(self.is_bounded(each, depth - 1) for each in others)
        return self._is_never_positive(value, depth - 1)

    def _is_never_positive(self, value: Value, depth: int) -> bool:
        if (number := self._constant(value)) is not None:
            return number <= 0
        maker = self._maker(value, depth)
        if maker is None:
            return False
        first, *others = maker.operands
        if maker.name in (*_MOVES, "arith.addf", *_MAXIMA):
            return all(self._is_never_positive(each, depth - 1) for each in maker.operands)
        if maker.name == "arith.negf":
            return self._is_never_negative(first, depth - 1)
        if maker.name == "arith.subf" and self._constant(first) == 0:
            return self._is_never_negative(others[0], depth - 1)
        if maker.name == "arith.subf":
            return self._is_no_less(others[0], first, depth - 1)
        return maker.name == "arith.mulf" and any(
            self._is_never_positive(one, depth - 1) and self._is_never_negative(other, depth - 1)
            for one, other in ((first, *others), (*others, first))
        )

    def _is_never_negative(self, value: Value, depth: int) -> bool:
        if (number := self._constant(value)) is not None:
            return number >= 0
        maker = self._maker(value, depth)
        if maker is None:
            return False
        if maker.name == "arith.mulf" and maker.operands[0] is maker.operands[1]:
            return True
        if maker.name in (*_MOVES, "arith.mulf", "arith.addf"):
            return all(self._is_never_negative(each, depth - 1) for each in maker.operands)
        return maker.name in _NEVER_NEGATIVE

    def _is_no_less(self, large: Value, small: Value, depth: int, axes: Sequence[int] = ()) -> bool:
        """Whether no element of a block is below those of another at its place.

        Args:
            large: the block, or what becomes it by new dimensions.
            axes: the new dimensions, the last one first.
        """
        if large is small:
            return not axes
        maker = self._maker(large, depth)
        if maker is None or not maker.operands:
            return False
        first, rest = maker.operands[0], (small, depth - 1)
        if maker.name == "tt.expand_dims":
            return self._is_no_less(first, *rest, (*axes, maker.integer("axis")))
        if maker.name in ("tt.broadcast", "tt.splat"):
            return self._is_no_less(first, *rest, axes)
        if maker.name in _MAXIMA:
            return any(self._is_no_less(each, *rest, axes) for each in maker.operands)
        return maker.name == "tt.reduce" and self._is_maximum(maker, large, small, axes)

    def _is_maximum(
        self, reduction: Operation, result: Value, small: Value, axes: Sequence[int]
    ) -> bool:
        """Whether a result is the largest of a block along the dimension that it has again."""
        names, place = operation_of_each(reduction), reduction.results.index(result)
        if not names or names[place] not in _MAXIMA or reduction.operands[place] is not small:
            return False
        is_scalar = not isinstance(result.type, TensorType)
        return is_scalar or list(axes) == [reduction.integer("axis")]

    def _maker(self, value: Value, depth: int) -> Operation | None:
        """What computes floats, as far as anybody looks."""
        element = element_type(value.type)
        is_float = isinstance(element, ScalarType) and element.is_float
        return self._makers.get(value) if is_float and depth > 0 else None

    def _constant(self, value: Value) -> float | None:
        maker = self._makers.get(value)
        if maker is not None and maker.name == "tt.splat":
            maker = self._makers.get(maker.operands[0])
        return one_number(maker)
