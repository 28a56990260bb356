"""Which combinations of two elements are known to commute, so that their order is free.

A region is followed with names for its arguments, and again with the two sides in exchange. Where
both give the same terms, up to the order of operands that the operations themselves leave free, it
commutes. So it does where both are the same by algebra, as where means and variances of two parts
are joined, and where it chooses the first of two in a strict order, as in `tl.argmax`. Zeros of
either sign and NaN do not count: what they come to in a reduction is free as well. Neither does
what stands in for a quotient by zero, such as the mean of no elements.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.lowering.llvm.predicates import predicate_of
from triton_rvv.lowering.ttir.combining import COMBINING
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.known_integers import one_number

__all__ = ["COMMUTES", "are_equal", "first_in_order", "mark_commutative"]

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


# The attribute of a reduction that may combine elements in any order.
COMMUTES = "triton_rvv.commutes"

# ("argument", number), ("outside", name), ("compare", predicate, two terms), or the name of an
# operation, its attributes and its operands' terms.
_Term = tuple[Any, ...]

_EQUAL = ("eq", "oeq", "ueq")
_STRICT = ("slt", "ult", "olt")
_MIRRORED = {f"{sign}g{kind}": f"{sign}l{kind}" for sign in "suo" for kind in "te"}


def mark_commutative(kernel: Kernel) -> int:
    """Finds reductions that may combine elements in any order."""

    def constant_of(value: Value) -> float | None:
        return one_number(kernel.makers.get(value))

    fired = 0
    for operation in kernel.operations:
        if operation.name == "tt.reduce" and _is_known_to_commute(
            operation.regions[0].blocks, constant_of
        ):
            operation.attributes[COMMUTES] = None
            fired += 1
    return fired


def first_in_order(reduction: Operation) -> list[tuple[str, bool]]:
    """By which of its elements a reduction chooses the first side of two, first things first.

    Returns:
        For each of the first elements, the strict comparison that orders it, and whether the lesser
        one comes first. Empty where it is no such choice, of the same side for all elements.
    """
    blocks = reduction.regions[0].blocks
    count = len(reduction.operands)
    terms = _results(blocks[0], range(2 * count), lambda _: None) if len(blocks) == 1 else None
    if not terms or any(term[0] != "arith.select" for term in terms):
        return []
    condition = terms[0][2]
    sides = [(("argument", number), ("argument", number + count)) for number in range(count)]
    if any(term[2:] != (condition, *side) for term, side in zip(terms, sides, strict=True)):
        return []
    keys, comparisons = _keys(condition, count), _strict_comparisons(condition)
    if keys != [*range(len(comparisons))]:
        return []
    return [(each[1], each[2][1] < count) for each in comparisons]


def _strict_comparisons(condition: Any) -> list[Any]:
    """The comparisons of a condition that orders sides, first things first."""
    if condition[0] == "compare":
        return [condition] if condition[1] in _STRICT else []
    operands = condition[2:]
    found = [each for operand in operands for each in _strict_comparisons(operand)]
    return sorted(found, key=lambda each: min(side[1] for side in each[2:]))


def _is_known_to_commute(
    blocks: Sequence[Block], constant_of: Callable[[Value], float | None]
) -> bool:
    """Whether a region of one block gives the same results with its two operands in exchange.

    Args:
        blocks: of the region; its arguments are the elements of one side, then those of the other.
        constant_of: the number that a value from outside the region is, where it is a constant.
    """
    if len(blocks) != 1:
        return False
    (block,) = blocks
    count = len(block.arguments) // 2
    numbers = list(range(2 * count))
    terms = _results(block, numbers, constant_of)
    exchanged = _results(block, [*numbers[count:], *numbers[:count]], constant_of)
    if terms is None or exchanged is None:
        return False
    return all(
        one == other or are_equal(one, other) or _is_first_in_order(one, count)
        for one, other in zip(terms, exchanged, strict=True)
    )


def _results(
    block: Block, numbers: Sequence[int], constant_of: Callable[[Value], float | None]
) -> list[_Term] | None:
    """The terms of a block's results; None where there is more in it than terms."""
    terms: dict[Value, _Term] = {
        argument: ("argument", number)
        for argument, number in zip(block.arguments, numbers, strict=True)
    }

    def term(value: Value) -> _Term:
        if value in terms:
            return terms[value]
        # What comes from outside is the same on both sides.
        number = constant_of(value)
        if number is None:
            return ("outside", value.name)
        return ("arith.constant", (("value", repr(number)),))

    for operation in block.operations[:-1]:
        if operation.regions or len(operation.results) != 1 or operation.name == "tt.call":
            return None
        terms[operation.result] = _term(operation, [term(value) for value in operation.operands])
    return [term(value) for value in block.operations[-1].operands]


def _term(operation: Operation, operands: list[_Term]) -> _Term:
    if operation.name in ("arith.cmpi", "arith.cmpf"):
        predicate = predicate_of(operation)
        if predicate in _MIRRORED:
            return ("compare", _MIRRORED[predicate], *operands[::-1])
        return ("compare", predicate, *(_sorted(operands) if predicate in _EQUAL else operands))
    if operation.name in COMBINING:
        operands = _sorted(operands)
    attributes = sorted((name, repr(value)) for name, value in operation.attributes.items())
    return (operation.name, tuple(attributes), *operands)


def _sorted(operands: Sequence[_Term]) -> list[_Term]:
    return sorted(operands, key=repr)


def _is_first_in_order(term: _Term, count: int) -> bool:
    """Whether a term is the element of the side that comes first in a strict order.

    Sides that are equal in that order have to be equal in this element as well.
    """
    if term[0] != "arith.select":
        return False
    _, _, condition, chosen, other = term
    keys = _keys(condition, count)
    return any({chosen, other} == {("argument", key), ("argument", key + count)} for key in keys)


def _keys(condition: Any, count: int) -> list[int]:
    """The elements by which a condition orders the two sides, first things first.

    `a < b`, or `a < b or (a == b and ...)`; empty where it is no such condition.
    """
    if condition[0] == "compare":
        number = _compared(condition, count)
        return [number] if condition[1] in _STRICT and number is not None else []
    if condition[0] != "arith.ori":
        return []
    for first, second in (condition[2:], condition[:1:-1]):
        key = _keys(first, count)
        if len(key) == 1 and second[0] == "arith.andi":
            for tie, rest in (second[2:], second[:1:-1]):
                is_tie = tie[0] == "compare" and tie[1] in _EQUAL
                more = _keys(rest, count)
                if is_tie and _compared(tie, count) == key[0] and more:
                    return [*key, *more]
    return []


def _compared(comparison: Any, count: int) -> int | None:
    """The element that both sides of a comparison are, by its number."""
    sides = comparison[2:]
    if any(side[0] != "argument" for side in sides):
        return None
    low, high = sorted(side[1] for side in sides)
    return low if high == low + count else None
