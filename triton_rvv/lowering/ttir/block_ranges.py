"""Between which integers the elements of blocks lie, from their types and constants.

A byte that was widened lies in [0, 255], the sum of nine in [0, 2295]. Where a block is read
twice, as in `front * alpha + back * (255 - alpha)`, the sum is looked at as a whole. Nothing is
known of a block whose elements may wrap.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import ScalarType, element_type
from triton_rvv.lowering.ttir.constants import one_integer
from triton_rvv.lowering.ttir.polynomials import Atom, Polynomial

__all__ = ["Range", "ranges_of_blocks"]

# The least and the largest element, both as signed integers.
Range = tuple[int, int]

# Of sums in more blocks, the ends of all are not tried together.
_MAX_ATOMS = 6

_SAME = frozenset(["tt.broadcast", "tt.expand_dims", "tt.splat", "tt.reshape", "tt.trans"])


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


def _fits(value: Value, found: Range) -> bool:
    element = element_type(value.type)
    if not isinstance(element, ScalarType) or element.is_float:
        return False
    limit = 1 << element.bits - 1
    return -limit <= found[0] and found[1] < limit


def _range(operation: Operation, known: Mapping[Value, Range]) -> Range | None:
    number = one_integer(operation)
    if number is not None:
        return number, number
    if operation.name == "tt.make_range":
        return operation.integer("start"), operation.integer("end") - 1
    if operation.name in ("arith.extsi", "arith.extui"):
        return _widened(operation, known)
    operands = [known.get(each) for each in operation.operands]
    if operation.name == "arith.select":
        operands = operands[1:]
    ranges = [each for each in operands if each is not None]
    if len(ranges) < len(operands):
        if operation.name == "arith.shrui":
            return _upper_bits(operation, known)
        return _of_one_side(operation, ranges)
    if operation.name in _SAME | {"arith.trunci"}:
        return ranges[0] if ranges else None
    computed = _COMPUTED.get(operation.name)
    return computed(*ranges) if computed is not None else None


def _widened(operation: Operation, known: Mapping[Value, Range]) -> Range | None:
    (operand,) = operation.operands
    element, found = element_type(operand.type), known.get(operand)
    if not isinstance(element, ScalarType):
        return None
    is_signed = operation.name == "arith.extsi"
    if found is not None and (is_signed or found[0] >= 0):
        return found
    half = 1 << element.bits - 1
    return (-half, half - 1) if is_signed else (0, 2 * half - 1)


def _upper_bits(operation: Operation, known: Mapping[Value, Range]) -> Range | None:
    """What is known of anything whose lower bits are shifted out, and zeros in."""
    element = element_type(operation.result.type)
    least, most = known.get(operation.operands[1], (0, 0))
    if not isinstance(element, ScalarType) or least < 1 or most >= element.bits:
        return None
    return 0, (1 << element.bits - least) - 1


def _of_one_side(operation: Operation, ranges: Sequence[Range]) -> Range | None:
    """What is known where one operand may be anything: of limits, and bits that a mask lets by."""
    element = element_type(operation.result.type)
    if len(ranges) != 1 or not isinstance(element, ScalarType):
        return None
    ((low, high),), half = ranges, 1 << element.bits - 1
    if operation.name == "arith.maxsi":
        return low, half - 1
    if operation.name == "arith.minsi":
        return -half, high
    return (0, high) if operation.name == "arith.andi" and low >= 0 else None


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


def _masked(left: Range, right: Range) -> Range | None:
    tops = [high for low, high in (left, right) if low >= 0]
    return (0, min(tops)) if tops else None


def _bits_of_both(left: Range, right: Range) -> Range | None:
    is_positive = left[0] >= 0 and right[0] >= 0
    return (0, (1 << max(left[1], right[1]).bit_length()) - 1) if is_positive else None


def _either(left: Range, right: Range) -> Range:
    return min(left[0], right[0]), max(left[1], right[1])


def _extreme(combine: Callable[[int, int], int]) -> Callable[[Range, Range], Range]:
    return lambda left, right: (combine(left[0], right[0]), combine(left[1], right[1]))


def _absolute(value: Range) -> Range:
    return max(value[0], -value[1], 0), max(abs(value[0]), abs(value[1]))


# By an operation that reads its operands as signed integers, or as their bits.
_SIGNED: Mapping[str, Callable[..., Range | None]] = {
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
}


def _unsigned() -> Iterator[tuple[str, Callable[..., Range | None]]]:
    """What reads integers as unsigned ones, which is the same where none is below 0."""
    for name in ("arith.divui", "arith.remui", "arith.minui", "arith.maxui", "arith.shrui"):
        signed = _SIGNED[name.replace("ui", "si")]
        yield name, lambda *ranges, of=signed: of(*ranges) if min(ranges)[0] >= 0 else None


_COMPUTED = {**_SIGNED, **dict(_unsigned())}
