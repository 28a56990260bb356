"""Finds gathers whose offsets fit few bits, as those of a table for four bits or of one picture do.

    places = keys >> 24                             {triton_rvv.offset_bits = 16}
    found = load(table + places)

Instructions that gather and scatter take offsets in bytes without a sign, and the shorter these
are, the more of them fit a register. To cut longer ones costs what is saved, but a shift cuts too,
and what was widened need not be. Of numbers that may be negative nothing is known: a pointer may
point to the middle of an array.
"""

from __future__ import annotations

from collections.abc import Iterator

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import PointerType, ScalarType, TensorType, element_type
from triton_rvv.lowering.ttir.block_ranges import Range, ranges_of_blocks
from triton_rvv.lowering.ttir.kernel import Kernel

__all__ = ["OFFSET_BITS", "mark_short_offsets"]

# In how many bits the offsets of an addition to pointers fit, in bytes and without a sign.
OFFSET_BITS = "triton_rvv.offset_bits"
_WIDTHS = (8, 16)
_WIDENED = ("arith.extsi", "arith.extui")
_CUT_BY_THEMSELVES = ("arith.shrsi", "arith.shrui", *_WIDENED)


def mark_short_offsets(kernel: Kernel) -> int:
    """Note it at the additions that make such addresses; how many there are."""
    sums = {kernel.makers.get(access.operands[0]) for access in _gathers(kernel)}
    fired = 0
    for function in kernel.functions.values() if sums else ():
        ranges = ranges_of_blocks(function, _known_numbers(kernel, function))
        for operation in function.walk():
            if operation in sums and _is_short_for_free(operation, kernel):
                bits = _bits(operation, ranges.get(operation.operands[1]))
                if bits is not None:
                    operation.attributes[OFFSET_BITS] = bits
                    fired += 1
    return fired


def _gathers(kernel: Kernel) -> Iterator[Operation]:
    for operation, access in kernel.accesses.items():
        if access.kind in ("gathered", "pieces"):
            yield operation


def _is_short_for_free(operation: Operation, kernel: Kernel) -> bool:
    """Whether it adds offsets to pointers that are shorter, or become so on the way."""
    if operation.name != "tt.addptr":
        return False
    maker = kernel.makers.get(operation.operands[1])
    if maker is None or maker.name != "arith.andi":
        return maker is not None and maker.name in _CUT_BY_THEMSELVES
    parts = [kernel.makers.get(operand) for operand in maker.operands]
    return any(part is not None and part.name in _WIDENED for part in parts)


def _known_numbers(kernel: Kernel, function: Operation) -> dict[Value, Range]:
    """The scalars that are the same in every run."""
    found: dict[Value, Range] = {}
    for operation in function.walk():
        for value in (*operation.operands, *operation.results):
            if value not in found and isinstance(value.type, ScalarType):
                number = kernel.known_integers.of(value)
                if number is not None:
                    found[value] = number, number
    return found


def _bits(addition: Operation, found: Range | None) -> int | None:
    pointer = element_type(addition.result.type)
    assert isinstance(pointer, PointerType)
    if found is None or found[0] < 0 or isinstance(pointer.pointee, TensorType):
        return None
    most = found[1] * pointer.pointee.size_bytes
    return next((bits for bits in _WIDTHS if most < 1 << bits), None)
