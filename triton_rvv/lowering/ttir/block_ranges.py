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
from triton_rvv.frontend.types import ScalarType, element_type
from triton_rvv.lowering.ttir.known_integers import one_integer
from triton_rvv.lowering.ttir.polynomials import Atom, Polynomial

__all__ = ["Range", "bits_of", "integer_bits", "ranges_of_blocks"]

# The least and the largest element, both as signed integers.
Range = tuple[int, int]

# Of sums in more blocks, the ends of all are not tried together.
_MAX_ATOMS = 6

_SAME = ("tt.broadcast", "tt.expand_dims", "tt.splat", "tt.reshape", "tt.trans")


def ranges_of_blocks(function: Operation) -> dict[Value, Range]:
    """The ranges of the integers and blocks of integers of a function, where any is known."""
    known: dict[Value, Range] = {}
    sums: dict[Value, Polynomial] = {}
    for operation in function.walk():
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


def integer_bits(value: Value) -> int | None:
    """The bits of an integer, or of a block's elements; None for anything else."""
    element = element_type(value.type)
    if not isinstance(element, ScalarType) or element.is_float:
        return None
    return element.bits


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
    number = one_integer(operation)
    if number is not None:
        return number, number
    if operation.name == "tt.make_range":
        return operation.integer("start"), operation.integer("end") - 1
    is_choice = operation.name == "arith.select"
    operands = operation.operands[1:] if is_choice else operation.operands
    wholes = [_whole(each) for each in operands]
    ranges = [known.get(each, whole) for each, whole in zip(operands, wholes, strict=True) if whole]
    if not ranges or len(ranges) < len(operands):
        return None
    name = operation.name
    if name.endswith("ui"):
        name = name.replace("ui", "si")
        ranges = [_read_as_unsigned(*each) for each in zip(operands, ranges, strict=True)]
    computed = _COMPUTED.get(name)
    return computed(*ranges) if computed is not None else None


def _read_as_unsigned(value: Value, found: Range) -> Range:
    bits = integer_bits(value)
    return found if found[0] >= 0 or bits is None else (0, (1 << bits) - 1)


def _corners(combine: Callable[[int, int], int], left: Range, right: Range) -> Range:
    corners = [combine(one, other) for one in left for other in right]
    return min(corners), max(corners)


def _quotient(left: Range, right: Range) -> Range | None:
    def divided(one: int, other: int) -> int:
        return abs(one) // other * (1 if one >= 0 else -1)

    return _corners(divided, left, right) if right[0] > 0 else None


def _remainder(left: Range, right: Range) -> Range | None:
    if right[0] <= 0:
        return None
    most = right[1] - 1
    return max(-most, min(left[0], 0)), min(most, max(left[1], 0))


def _shifted(combine: Callable[[int, int], int]) -> Callable[[Range, Range], Range | None]:
    def shifted(left: Range, right: Range) -> Range | None:
        return _corners(combine, left, right) if right[0] >= 0 and right[1] < 32 else None

    return shifted


def _masked(left: Range, right: Range) -> Range:
    tops = [high for low, high in (left, right) if low >= 0]
    return (0, min(tops)) if tops else _bits_of_both(left, right)


def _bits_of_both(left: Range, right: Range) -> Range:
    """What bits as many as the longer of two integers has can be."""
    limit = 1 << max(max(high, ~low).bit_length() for low, high in (left, right))
    return (0 if left[0] >= 0 and right[0] >= 0 else -limit, limit - 1)


def _either(left: Range, right: Range) -> Range:
    return min(left[0], right[0]), max(left[1], right[1])


def _extreme(combine: Callable[[int, int], int]) -> Callable[[Range, Range], Range]:
    return lambda left, right: (combine(left[0], right[0]), combine(left[1], right[1]))


def _absolute(value: Range) -> Range:
    return max(value[0], -value[1], 0), max(abs(value[0]), abs(value[1]))


# By an operation that reads its operands as signed integers, or as their bits.
_COMPUTED: Mapping[str, Callable[..., Range | None]] = {
    "arith.addi": lambda left, right: (left[0] + right[0], left[1] + right[1]),
    "arith.subi": lambda left, right: (left[0] - right[1], left[1] - right[0]),
    "arith.muli": lambda left, right: _corners(lambda one, other: one * other, left, right),
    "arith.divsi": _quotient,
    "arith.remsi": _remainder,
    "arith.minsi": _extreme(min),
    "arith.maxsi": _extreme(max),
    "arith.shli": _shifted(lambda one, other: one << other),
    "arith.shrsi": _shifted(lambda one, other: one >> other),
    "arith.andi": _masked,
    "arith.ori": _bits_of_both,
    "arith.xori": _bits_of_both,
    "arith.select": _either,
    "math.absi": _absolute,
    **dict.fromkeys((*_SAME, "arith.trunci", "arith.extsi"), lambda value: value),
}
