"""Constants and other integers of the IR that are the same in every run."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from triton_rvv.frontend.attributes import DenseAttribute
from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import ScalarType, element_type
from triton_rvv.lowering.llvm.intervals import RULES, UNSIGNED, Interval, exactly

__all__ = ["KnownIntegers", "integer_bits", "one_integer", "one_number", "result_interval"]

# Operations whose elements are those of the operand.
_MOVES = ("tt.broadcast", "tt.expand_dims", "tt.splat", "tt.reshape", "tt.trans")
# LLVM's names of operations, where they are not MLIR's without the last letter.
_LLVM_NAMES = {
    **{f"{name}{sign}i": f"{sign}{name}" for name in ("div", "rem", "min", "max") for sign in "su"},
    **{"shrsi": "ashr", "shrui": "lshr", "extsi": "sext", "extui": "zext", "absi": "abs"},
}


def result_interval(
    operation: Operation, of: Callable[[Value], Interval | None]
) -> Interval | None:
    """Between what the results of an operation on integers or blocks of them lie, if that is known.

    They may wrap beyond it.

    Args:
        of: the same of its operands.
    """
    if (number := one_integer(operation)) is not None:
        return exactly(number)
    name = operation.name.removeprefix("arith.").removeprefix("math.")
    name = "trunc" if name in _MOVES else _LLVM_NAMES.get(name, name.removesuffix("i"))
    rule = RULES.get(UNSIGNED.get(name, name))
    operands = operation.operands[1:] if name == "select" else operation.operands
    found = [of(each) for each in operands] if rule is not None else []
    known = [each for each in found if each is not None]
    if rule is None or len(known) < len(found):
        return None
    if name in UNSIGNED:
        known = [_read_as_unsigned(*each) for each in zip(operands, known, strict=True)]
    return rule(*known)


def integer_bits(value: Value) -> int | None:
    """The bits of an integer, or of a block's elements; None for anything else."""
    element = element_type(value.type)
    if not isinstance(element, ScalarType) or element.is_float:
        return None
    return element.bits


def _read_as_unsigned(value: Value, found: Interval) -> Interval:
    return found if found.least >= 0 else Interval(0, (1 << (integer_bits(value) or 0)) - 1)


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
        found = result_interval(maker, self._exactly)
        number = found.least if found is not None and found.is_exact else None
        limit = 1 << value.type.bits - 1
        return number if number is not None and -limit <= number < limit else None

    def _exactly(self, value: Value) -> Interval | None:
        number = self.of(value)
        return None if number is None else exactly(number)


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
