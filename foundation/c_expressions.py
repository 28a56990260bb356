"""Functions of sizes, such as a kernel's grid, as expressions of C: they are called with these.

The functions below take integers as well, and give what Python gives.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Union

__all__ = [
    "Expression",
    "Operand",
    "all_of",
    "c_text",
    "compared",
    "floor_divided",
    "largest",
    "power_above",
    "remainder",
    "smallest",
]

Operand = Union["Expression", int]

_COMPARISONS = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le}


@dataclass(frozen=True)
class Expression:
    """An expression of C in int64_t, which Python's arithmetic makes from others.

    Args:
        text: the expression, in parentheses where it is more than a name.
        is_natural: whether it is 0 or more for all sizes.
    """

    text: str
    is_natural: bool = True

    def __add__(self, other: Operand) -> Expression:
        return self._with("+", other)

    def __radd__(self, other: Operand) -> Expression:
        return _expression(other)._with("+", self)

    def __sub__(self, other: Operand) -> Expression:
        return self._with("-", other)

    def __rsub__(self, other: Operand) -> Expression:
        return _expression(other)._with("-", self)

    def __mul__(self, other: Operand) -> Expression:
        return self._with("*", other)

    def __rmul__(self, other: Operand) -> Expression:
        return _expression(other)._with("*", self)

    def __floordiv__(self, other: Operand) -> Expression:
        divisor = _expression(other)
        is_positive = isinstance(other, int) and other > 0
        # C rounds a quotient to zero, which is equal only for dividends from 0 up.
        if self.is_natural and is_positive:
            return Expression(f"({self.text} / {divisor.text})")
        natural = self.is_natural and divisor.is_natural
        return Expression(f"tuned_floor_quotient({self.text}, {divisor.text})", natural)

    def __mod__(self, other: Operand) -> Expression:
        divisor = _expression(other)
        if self.is_natural and isinstance(other, int) and other > 0:
            return Expression(f"({self.text} % {divisor.text})")
        remainder = f"tuned_floor_remainder({self.text}, {divisor.text})"
        return Expression(remainder, divisor.is_natural)

    def __neg__(self) -> Expression:
        return 0 - self

    def __bool__(self) -> bool:
        raise TypeError(f"whether {self.text} holds is only known when a program runs")

    def __int__(self) -> int:
        raise TypeError(f"{self.text} is only known when a program runs")

    def _with(self, operator: str, other: Operand) -> Expression:
        second = _expression(other)
        is_natural = operator != "-" and self.is_natural and second.is_natural
        return Expression(f"({self.text} {operator} {second.text})", is_natural)


def floor_divided(dividend: Operand, divisor: Operand) -> Operand:
    """The quotient, rounded down."""
    if isinstance(dividend, int) and isinstance(divisor, int):
        return dividend // divisor
    return _expression(dividend) // divisor


def remainder(dividend: Operand, divisor: Operand) -> Operand:
    """What such a quotient leaves, with the sign of the divisor."""
    if isinstance(dividend, int) and isinstance(divisor, int):
        return dividend % divisor
    return _expression(dividend) % divisor


def largest(one: Operand, other: Operand) -> Operand:
    """The larger of two numbers."""
    if isinstance(one, int) and isinstance(other, int):
        return max(one, other)
    return _of_two("tuned_largest", one, other)


def smallest(one: Operand, other: Operand) -> Operand:
    """The smaller of two numbers."""
    if isinstance(one, int) and isinstance(other, int):
        return min(one, other)
    return _of_two("tuned_smallest", one, other)


def power_above(size: Operand) -> Operand:
    """The least power of two that is no less; 0 for sizes below 1, as Triton has it."""
    if isinstance(size, Expression):
        return Expression(f"tuned_power_above({size.text})")
    return 1 << (size - 1).bit_length() if size > 0 else 0


def compared(one: Operand, sign: str, other: Operand) -> Operand:
    """1 if a comparison holds, and 0 if not.

    Args:
        one, other: the two sides.
        sign: "==", "!=", "<" or "<=".
    """
    if isinstance(one, int) and isinstance(other, int):
        return int(_COMPARISONS[sign](one, other))
    return Expression(f"({c_text(one)} {sign} {c_text(other)})")


def all_of(one: Operand, other: Operand) -> Operand:
    """1 if neither is 0, and 0 otherwise."""
    if isinstance(one, int) and isinstance(other, int):
        return int(one != 0 and other != 0)
    return Expression(f"({c_text(one)} && {c_text(other)})")


def c_text(value: Operand) -> str:
    """An integer or an expression in C.

    Raises:
        TypeError: for anything else, which has no equal in C.
    """
    if isinstance(value, Expression):
        return value.text
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"{value!r} is no integer")


def _expression(value: Operand) -> Expression:
    if isinstance(value, Expression):
        return value
    return Expression(c_text(value), value >= 0)


def _of_two(function: str, one: Operand, other: Operand) -> Expression:
    first, second = _expression(one), _expression(other)
    is_natural = first.is_natural and second.is_natural
    return Expression(f"{function}({first.text}, {second.text})", is_natural)
