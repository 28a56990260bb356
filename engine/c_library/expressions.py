"""Functions of sizes, such as a kernel's grid, as expressions of C: they are called with these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

__all__ = ["Expression", "c_text"]

_Operand = Union["Expression", int]


@dataclass(frozen=True)
class Expression:
    """An expression of C in int64_t, which Python's arithmetic makes from others.

    Args:
        text: the expression, in parentheses where it is more than a name.
    """

    text: str

    def __add__(self, other: _Operand) -> Expression:
        return self._with("+", other)

    def __radd__(self, other: _Operand) -> Expression:
        return Expression(c_text(other))._with("+", self)

    def __sub__(self, other: _Operand) -> Expression:
        return self._with("-", other)

    def __rsub__(self, other: _Operand) -> Expression:
        return Expression(c_text(other))._with("-", self)

    def __mul__(self, other: _Operand) -> Expression:
        return self._with("*", other)

    def __rmul__(self, other: _Operand) -> Expression:
        return Expression(c_text(other))._with("*", self)

    def __floordiv__(self, other: int) -> Expression:
        if not isinstance(other, int) or other <= 0:
            raise TypeError(f"{self.text} is divided by {other!r}, which is no positive constant")
        # C rounds a quotient to zero: equal for dividends from 0 up, as all sizes are.
        return self._with("/", other)

    def __neg__(self) -> Expression:
        raise TypeError(f"-{self.text} may be divided, and C rounds such a quotient otherwise")

    def __bool__(self) -> bool:
        raise TypeError(f"whether {self.text} holds is only known when a program runs")

    def __int__(self) -> int:
        raise TypeError(f"{self.text} is only known when a program runs")

    def _with(self, operator: str, other: _Operand) -> Expression:
        return Expression(f"({self.text} {operator} {c_text(other)})")


def c_text(value: _Operand) -> str:
    """An integer or an expression in C.

    Raises:
        TypeError: for anything else, which has no equal in C.
    """
    if isinstance(value, Expression):
        return value.text
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"{value!r} is no integer")
