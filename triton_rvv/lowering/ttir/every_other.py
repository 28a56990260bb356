"""Finds loads of halves under a mask that lets only even numbers through.

    source = at // 2
    x = load(p + source, mask=(at % 2 == 0) & (source < n))

Such is a transposed convolution of stride 2, by what reaches each output. Of the lanes, every other
one is loaded, and those follow one another in memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.ttir.access import Access
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.polynomials import ONE, Polynomial, Unknown, axes_of

__all__ = ["EVERY_OTHER", "find_every_other"]

# The attribute of such quotients, and of the remainders in their masks, that are not followed as
# periods: those of one load begin at other places than those of another.
EVERY_OTHER = "triton_rvv.every_other"
_HALVES, _REMAINDERS = {("//", 2), (">>", 1)}, {("%", 2), ("&", 1)}
# A vector has room for two elements in place of each.
_MAX_BITS = 32


def find_every_other(kernel: Kernel) -> int:
    """Finds loads of halves under masks that let through those of even numbers alone."""
    if kernel.target.backend != "rvv":
        return 0
    found = {
        load: pair for load, access in kernel.accesses.items() if (pair := _pair(load, access))
    }
    elsewhere = {
        atom.value
        for operation, access in kernel.accesses.items()
        if operation not in found
        for atom in _unknown(access.address)
    }
    # Periods that begin together are followed: they make masks, and leave long vectors.
    is_followed = all(_begins_at_even(half.operands[0]) for half, _ in found.values())
    for load, (half, remainder) in found.items():
        makers = [kernel.makers[each.value] for each in (half, remainder)]
        if elsewhere.isdisjoint(each.result for each in makers):
            kernel.every_other[load] = makers[0].operands[0]
            for maker in () if is_followed else makers:
                maker.attributes[EVERY_OTHER] = None
    return len(kernel.every_other)


def _pair(load: Operation, access: Access) -> tuple[Unknown, Unknown] | None:
    """The half by which a line is loaded, and the remainder by which its mask leaves out lanes."""
    type_ = load.operands[0].type
    if load.name != "tt.load" or access.rank != 1 or load.attributes.get("isVolatile"):
        return None
    element = load.result.type.element if isinstance(load.result.type, TensorType) else type_
    if not isinstance(element, ScalarType) or not 8 <= element.bits <= _MAX_BITS:
        return None
    varying = [term for term in access.address.terms if any(map(axes_of, term[0]))]
    if len(varying) != 1 or len(varying[0][0]) != 1 or varying[0][1] != 1:
        return None
    half = _of(varying[0][0][0], _HALVES)
    if half is None or half.operands[0].stride(0) != ONE:
        return None
    for remainder in _even(access):
        if remainder.operands[0] == half.operands[0]:
            return half, remainder
    return None


def _even(access: Access) -> Iterator[Unknown]:
    """The remainders that a mask compares with 0."""
    for condition in access.mask:
        if isinstance(condition, Value) or condition[1] != "eq" or condition[2].number != 0:
            continue
        ((product, factor),) = condition[0].terms if len(condition[0].terms) == 1 else (((), 0),)
        if len(product) == 1 and factor == 1:
            remainder = _of(product[0], _REMAINDERS)
            if remainder is not None:
                yield remainder


def _begins_at_even(line: Polynomial) -> bool:
    """Whether the first lane is even in each program, so that the others are odd in turn."""
    return all(factor % 2 == 0 for product, factor in line.terms if not any(map(axes_of, product)))


def _of(atom: object, forms: set[tuple[str, int]]) -> Unknown | None:
    """A quotient or remainder in one of some forms."""
    if not isinstance(atom, Unknown) or len(atom.operands) != 2:
        return None
    number = atom.operands[1].number
    return atom if number is not None and (atom.name, number) in forms else None


def _unknown(total: Polynomial) -> Iterator[Unknown]:
    """All quotients and unknown blocks in a sum, those in others with them."""
    for atom in total.atoms:
        if isinstance(atom, Unknown):
            yield atom
            for operand in atom.operands:
                yield from _unknown(operand)
