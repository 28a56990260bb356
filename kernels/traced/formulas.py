"""Formulas of sizes that torch found while a file's functions ran, as integers or as C."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sympy
from sympy.logic.boolalg import Boolean

from foundation.c_expressions import (
    Operand,
    all_of,
    compared,
    floor_divided,
    largest,
    power_above,
    remainder,
    smallest,
)

__all__ = ["Formula", "UntranslatedError"]

_Function = Callable[..., Any]


class UntranslatedError(Exception):
    """A formula that has no equal in C; the message has it in words."""


@dataclass(frozen=True)
class Formula:
    """An integer as a function of sizes.

    Args:
        expression: of symbols.
        sizes: the symbols that stand for sizes, and the sizes' names.
        powers: the symbols that stand for the least power of two that is no less than a formula.
    """

    expression: sympy.Basic
    sizes: Mapping[sympy.Symbol, str]
    powers: Mapping[sympy.Symbol, Formula]

    def at(self, sizes: Mapping[str, Any]) -> Any:
        """The formula for these sizes: an integer, or an expression if the sizes are.

        Raises:
            UntranslatedError: if it has no equal in C.
        """
        try:
            return self._at(self.expression, sizes)
        except (TypeError, AttributeError) as error:  # a number with a fraction among integers
            raise UntranslatedError(str(self.in_words())) from error

    @property
    def symbols(self) -> frozenset[str]:
        """Names of the sizes that it depends on."""
        own = {self.sizes[symbol] for symbol in self.expression.free_symbols & self.sizes.keys()}
        inner = (self.powers[s].symbols for s in self.expression.free_symbols & self.powers.keys())
        return frozenset(own.union(*inner))

    @property
    def is_size(self) -> bool:
        """Whether it is one of the sizes, as it is."""
        return self.expression in self.sizes

    @property
    def fixes_size(self) -> bool:
        """Whether it holds for one value of a size alone."""
        sides = set(self.expression.args)
        return isinstance(self.expression, sympy.Eq) and bool(sides & self.sizes.keys())

    @property
    def is_condition(self) -> bool:
        """Whether it holds or not."""
        return isinstance(self.expression, Boolean) and not self.expression.is_Symbol

    @property
    def has_powers(self) -> bool:
        """Whether it depends on the least power of two that is no less than something."""
        return bool(self.expression.free_symbols & self.powers.keys())

    def _at(self, part: sympy.Basic, sizes: Mapping[str, Any]) -> Any:
        if isinstance(part, sympy.Symbol):
            return self._symbol(part, sizes)
        if isinstance(part, sympy.Integer):
            return int(part)
        if part in (sympy.true, sympy.false):
            return int(bool(part))
        function = _FUNCTIONS.get(type(part).__name__)
        if function is None:
            raise UntranslatedError(str(self.in_words(part)))
        return function(*(self._at(argument, sizes) for argument in _ordered(part)))

    def _symbol(self, symbol: sympy.Symbol, sizes: Mapping[str, Any]) -> Any:
        if symbol in self.sizes:
            return sizes[self.sizes[symbol]]
        if symbol in self.powers:
            return power_above(self.powers[symbol].at(sizes))
        raise UntranslatedError("what a tensor holds")

    def in_words(self, part: sympy.Basic | None = None) -> sympy.Basic:
        """The formula, or a part of it, in the names of the sizes."""
        named = {symbol: sympy.Symbol(name) for symbol, name in self.sizes.items()}
        for symbol in self.expression.free_symbols & self.powers.keys():
            named[symbol] = sympy.Symbol(f"next_power_of_2({self.powers[symbol].in_words()})")
        return (self.expression if part is None else part).xreplace(named)


def _ordered(part: sympy.Basic) -> tuple[sympy.Basic, ...]:
    """The operands, of a sum or product the numbers last."""
    if isinstance(part, sympy.Add):
        return tuple(sorted(part.args, key=lambda operand: bool(operand.is_Number)))
    return tuple(part.args)


def _sum(*operands: Operand) -> Operand:
    return functools.reduce(lambda one, other: one + other, operands)


def _product(*operands: Operand) -> Operand:
    return functools.reduce(lambda one, other: one * other, operands)


def _power(base: Operand, exponent: Operand) -> Operand:
    if not isinstance(exponent, int) or exponent < 1:
        raise UntranslatedError(f"a power with the exponent {exponent}")
    return _product(*[base] * exponent)


def _folded(function: Callable[[Operand, Operand], Operand]) -> _Function:
    return lambda *operands: functools.reduce(function, operands)


def _comparison(operator: str, *, swapped: bool = False) -> _Function:
    def compare(one: Operand, other: Operand) -> Operand:
        return compared(other, operator, one) if swapped else compared(one, operator, other)

    return compare


@dataclass(frozen=True)
class _Quotient:
    """A quotient of integers in floating point, which is only met where it is rounded again."""

    dividend: Operand
    divisor: Operand


def _rounded_up(quotient: _Quotient) -> Operand:
    return floor_divided(quotient.dividend + quotient.divisor - 1, quotient.divisor)


def _rounded_down(quotient: _Quotient) -> Operand:
    return floor_divided(quotient.dividend, quotient.divisor)


_FUNCTIONS: Mapping[str, _Function] = {
    "Add": _sum,
    "Mul": _product,
    "Pow": _power,
    "PowByNatural": _power,
    "FloorDiv": floor_divided,
    "CleanDiv": floor_divided,
    "CeilDiv": lambda one, other: _rounded_up(_Quotient(one, other)),
    "Mod": remainder,
    "PythonMod": remainder,
    "Max": _folded(largest),
    "Min": _folded(smallest),
    "Identity": lambda operand: operand,
    "IntTrueDiv": _Quotient,
    "CeilToInt": _rounded_up,
    "FloorToInt": _rounded_down,
    "And": _folded(all_of),
    "Equality": _comparison("=="),
    "Unequality": _comparison("!="),
    "StrictLessThan": _comparison("<"),
    "LessThan": _comparison("<="),
    "StrictGreaterThan": _comparison("<", swapped=True),
    "GreaterThan": _comparison("<=", swapped=True),
}
