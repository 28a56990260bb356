"""Between which integers the elements of blocks lie, from their types and constants.

A byte that was widened lies in [0, 255], the sum of nine in [0, 2295]. Where a block is read
twice, as in `front * alpha + back * (255 - alpha)`, the sum is looked at as a whole. Nothing is
known of a block whose elements may wrap.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.lowering.llvm.intervals import Interval
from triton_rvv.lowering.ttir.known_integers import (
    KnownIntegers,
    integer_bits,
    one_integer,
    result_interval,
)
from triton_rvv.lowering.ttir.polynomials import Atom, Polynomial

__all__ = ["Range", "bits_of", "ranges_of_blocks"]

# The least and the largest element, both as signed integers.
Range = tuple[int, int]

# Of sums in more blocks, the ends of all are not tried together.
_MAX_ATOMS = 6


def ranges_of_blocks(
    function: Operation, integers: KnownIntegers | None = None
) -> dict[Value, Range]:
    """The ranges of the integers and blocks of integers of a function, where any is known.

    Args:
        integers: what is known of its arguments.
    """
    known: dict[Value, Range] = {}
    sums: dict[Value, Polynomial] = {}
    for argument in function.regions[0].blocks[0].arguments:
        value = None if integers is None else integers.of(argument)
        if value is not None and _fits(argument, (value, value)):
            known[argument], sums[argument] = (value, value), Polynomial.of(argument)
    for operation in function.walk():
        if operation.name == "scf.for" and (turns := _turns(operation, known)) is not None:
            number = operation.regions[0].block.arguments[0]
            known[number], sums[number] = turns, Polynomial.of(number)
        if len(operation.results) == 1:
            found, result = _range(operation, known), operation.result
            if found is None:
                continue
            total = _sum(operation, sums)
            if total is not None:
                found = _within(found, _range_of_sum(total, known))
            if _fits(result, found):
                known[result] = found
                sums[result] = Polynomial.of(result) if total is None else total
    return known


def _turns(loop: Operation, known: Mapping[Value, Range]) -> Range | None:
    """Between what the number that a loop counts lies in its body, if that is known."""
    start, end = (known.get(bound) for bound in loop.operands[:2])
    if start is None or end is None or "unsignedCmp" in loop.attributes:
        return None
    return start[0], max(start[0], end[1] - 1)


def _sum(operation: Operation, sums: Mapping[Value, Polynomial]) -> Polynomial | None:
    """What an operation gives by the blocks that it adds up and multiplies; None for others."""
    number = one_integer(operation)
    if number is not None:
        return Polynomial.of(number)
    combine, parts = _OF_SUMS.get(operation.name), [sums.get(each) for each in operation.operands]
    if combine is None or len(parts) != 2 or parts[0] is None or parts[1] is None:
        return None
    total = combine(parts[0], parts[1])
    return None if total.is_large else total


def _range_of_sum(total: Polynomial, known: Mapping[Value, Range]) -> Range | None:
    """The range of a sum that is linear in each of a few blocks: its ends are where theirs are."""
    atoms = list(total.atoms)
    is_linear = all(len(set(product)) == len(product) for product, _ in total.terms)
    if not is_linear or len(atoms) > _MAX_ATOMS:
        return None
    ends = []
    for corner in itertools.product(*(known[atom] for atom in atoms if isinstance(atom, Value))):
        at: Mapping[Atom, int] = dict(zip(atoms, corner, strict=True))
        terms = (factor * math.prod(map(at.__getitem__, term)) for term, factor in total.terms)
        ends.append(sum(terms))
    return min(ends), max(ends)


def _within(found: Range, other: Range | None) -> Range:
    return found if other is None else (max(found[0], other[0]), min(found[1], other[1]))


_OF_SUMS: Mapping[str, Callable[[Polynomial, Polynomial], Polynomial]] = {
    "arith.addi": lambda left, right: left + right,
    "arith.subi": lambda left, right: left - right,
    "arith.muli": lambda left, right: left * right,
}


def bits_of(found: Range) -> int:
    """The bits that hold all integers of a range, signed ones where any is below 0."""
    low, high = found
    return high.bit_length() if low >= 0 else max(high, ~low).bit_length() + 1


def _whole(value: Value) -> Range | None:
    """What a value may be where nothing is known of it."""
    bits = integer_bits(value)
    return None if bits is None else (-1 << bits - 1, (1 << bits - 1) - 1)


def _fits(value: Value, found: Range) -> bool:
    whole = _whole(value)
    return whole is not None and whole[0] <= found[0] and found[1] <= whole[1]


def _range(operation: Operation, known: Mapping[Value, Range]) -> Range | None:
    if operation.name == "tt.make_range":
        return operation.integer("start"), operation.integer("end") - 1

    def of(value: Value) -> Interval | None:
        found = known.get(value) or _whole(value)
        return None if found is None else Interval(*found)

    found = result_interval(operation, of)
    return None if found is None else (found.least, found.most)
