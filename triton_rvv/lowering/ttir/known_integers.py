"""Constants and other integers of the IR that are the same in every run."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from triton_rvv.frontend.attributes import DenseAttribute
from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import ScalarType

__all__ = ["KnownIntegers", "one_integer", "one_number"]


def _quotient(left: int, right: int) -> int | None:
    """Rounded towards zero, as `arith.divsi` does."""
    if right == 0:
        return None
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def _remainder(left: int, right: int) -> int | None:
    quotient = _quotient(left, right)
    return None if quotient is None else left - quotient * right


_COMPUTED: Mapping[str, Callable[..., int | None]] = {
    "arith.addi": lambda left, right: left + right,
    "arith.subi": lambda left, right: left - right,
    "arith.muli": lambda left, right: left * right,
    "arith.divsi": _quotient,
    "arith.remsi": _remainder,
    "arith.minsi": min,
    "arith.maxsi": max,
    "arith.extsi": lambda value: value,
    "arith.trunci": lambda value: value,
}


class KnownIntegers:
    """The integers of a module.

    Args:
        module: all operations.
        arguments: the values of arguments of its kernel that are known.
    """

    def __init__(self, module: Operation, arguments: Mapping[Value, int]) -> None:
        self._makers = {result: each for each in module.walk() for result in each.results}
        self._known: dict[Value, int | None] = {**arguments}

    def of(self, value: Value) -> int | None:
        """The number that a scalar is in every run; None where that is not known, or wraps."""
        if value not in self._known:
            self._known[value] = self._computed(value)
        return self._known[value]

    def turns(self, loop: Operation) -> int | None:
        """How often the body of an `scf.for` runs, where its bounds are known."""
        start, end, step = (self.of(value) for value in loop.operands[:3])
        if start is None or end is None or step is None:
            return None
        is_signed = "unsignedCmp" not in loop.attributes
        return max(0, -((start - end) // step)) if is_signed or 0 <= start <= end else None

    def _computed(self, value: Value) -> int | None:
        maker = self._makers.get(value)
        if maker is None or not isinstance(value.type, ScalarType):
            return None
        if maker.name == "arith.constant":
            number = maker.attributes["value"]
            return number if isinstance(number, int) else None
        operands = [self.of(operand) for operand in maker.operands]
        if maker.name not in _COMPUTED or None in operands:
            return None
        number = _COMPUTED[maker.name](*operands)
        limit = 1 << value.type.bits - 1
        return number if number is not None and -limit <= number < limit else None


def one_number(maker: Operation | None) -> float | int | None:
    """The number that a constant is, or that fills it; None for anything else."""
    if maker is None or maker.name != "arith.constant":
        return None
    value = maker.attributes.get("value")
    if isinstance(value, DenseAttribute):
        value = value.elements[0] if len(value.elements) == 1 else None
    return value if isinstance(value, int | float) else None


def one_integer(maker: Operation | None) -> int | None:
    """The same of integers alone."""
    number = one_number(maker)
    return number if isinstance(number, int) else None
