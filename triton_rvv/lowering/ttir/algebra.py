"""Whether two formulas are equal as rational functions of what they are made of.

Both are computed for numbers drawn once, modulo a prime. Formulas that differ agree there with a
chance of their degree divided by the prime (Schwartz, "Fast probabilistic algorithms for
verification of polynomial identities", 1980).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

__all__ = ["are_equal"]

# A formula: the name of an operation, its attributes, and its operands' formulas; or, as anything
# else, a tuple of its own that stands for one number.
_Formula = tuple[Any, ...]

_PRIME = (1 << 127) - 1
_RING: Mapping[str, Callable[..., int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "neg": lambda a: -a,
}
_OPERATIONS: Mapping[str, Callable[..., int]] = {
    **{f"arith.{name}{kind}": rule for name, rule in _RING.items() for kind in "if"},
    "math.fma": lambda a, b, c: a * b + c,
    "arith.divf": lambda a, b: a * pow(b, -1, _PRIME),
}

# Comparisons of 0 with a divisor that hold for no divisor that is 0, and such as hold for it.
_IS_NOT_ZERO, _IS_ZERO = ("one", "une", "olt", "ult"), ("oeq", "ueq", "oge", "uge")
# The same of the divisor with 0.
_CONVERSE = {
    **{name: name for name in ("one", "une", "oeq", "ueq")},
    **{
        f"{sign}{a}{kind}": f"{sign}{b}{kind}"
        for sign in "ou"
        for a, b in ("lg", "gl")
        for kind in "te"
    },
}


def are_equal(one: _Formula, other: _Formula) -> bool:
    """Whether two formulas are the same function, but for the rounding of floats.

    A choice between a quotient and a constant, by a comparison that keeps the divisor from being 0,
    counts as the quotient: which constant takes the place of a quotient by zero is not looked at.
    """
    try:
        return _value(one, {}) == _value(other, {})
    except ValueError:  # a division by what is always zero
        return False


def _value(formula: _Formula, known: dict[int, int]) -> int:
    """A formula's number; `known` has those of the formulas within it, by identity."""
    if id(formula) not in known:
        known[id(formula)] = _computed(formula, known) % _PRIME
    return known[id(formula)]


def _computed(formula: _Formula, known: dict[int, int]) -> int:
    name = formula[0]
    if name == "arith.constant":
        return _constant(formula)
    if name == "arith.select":
        _, _, condition, chosen, other = formula
        for side, rest, guards in ((chosen, other, _IS_NOT_ZERO), (other, chosen, _IS_ZERO)):
            if rest[0] == "arith.constant" and _guards(condition, side, guards):
                return _value(side, known)
    if name in _OPERATIONS:
        return _OPERATIONS[name](*(_value(operand, known) for operand in formula[2:]))
    parts = [_value(part, known) if _is_formula(part) else repr(part) for part in formula[1:]]
    digest = hashlib.sha256(repr((name, parts)).encode()).digest()
    return int.from_bytes(digest, "little")


def _is_formula(part: Any) -> bool:
    return isinstance(part, tuple) and bool(part) and isinstance(part[0], str)


def _constant(formula: _Formula) -> int:
    """A constant's number, where it is one; any other constant stands for itself."""
    for name, text in formula[1]:
        if name == "value":
            try:
                number = Fraction(int(text) if text.lstrip("-").isdigit() else float(text))
            except (ValueError, OverflowError):
                break
            return number.numerator * pow(number.denominator, -1, _PRIME)
    return int.from_bytes(hashlib.sha256(repr(formula).encode()).digest(), "little")


def _guards(condition: Any, side: _Formula, predicates: tuple[str, ...]) -> bool:
    """Whether a condition compares with 0 what a side divides by, as one of the predicates does.

    Predicates are of 0 and the divisor; a comparison of the divisor with 0 is the converse.
    """
    if condition[0] != "compare" or side[0] != "arith.divf":
        return False
    _, predicate, first, second = condition
    if second == side[3] and _is_zero(first):
        return predicate in predicates
    return first == side[3] and _is_zero(second) and _CONVERSE.get(predicate) in predicates


def _is_zero(formula: _Formula) -> bool:
    return formula[0] == "arith.constant" and _constant(formula) == 0
