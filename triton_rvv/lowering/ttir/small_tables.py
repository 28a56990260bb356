"""Finds gathers from so few places behind an address that a group of registers holds all of these.

    weight = load(table + group * 16 + (byte & 15))

Known is how many places there are, by the range of the numbers that are looked up, and not how
long the table is. A core's machine says up to how many a lookup in registers pays.
"""

from __future__ import annotations

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.ttir.block_ranges import ranges_of_blocks
from triton_rvv.lowering.ttir.demanded_bits import WIDENED
from triton_rvv.lowering.ttir.kernel import FoundTable, Kernel

__all__ = ["find_small_tables"]

_REPEATED = ("tt.splat", "tt.expand_dims", "tt.broadcast")


def find_small_tables(kernel: Kernel) -> int:
    """Finds gathers from so few places that a group of registers holds all of these."""
    if kernel.target.backend != "rvv":
        return 0
    found = {each: place for each in kernel.operations if (place := _places(kernel, each))}
    ranges = ranges_of_blocks(kernel.function) if found else {}
    for load, (places, argument) in found.items():
        type_ = load.result.type
        assert isinstance(type_, TensorType)
        assert isinstance(type_.element, ScalarType)
        least, most = ranges.get(places, (-1, 0))
        room = 1 << max(most, 1).bit_length()
        registers = room * max(type_.element.bits, 8) / kernel.target.vector_bits
        if 0 <= least <= most < type_.shape[-1] and kernel.target.machine.looks_up(registers, room):
            kernel.small_tables[load] = FoundTable(most + 1, _narrow(kernel, places), argument)
    return len(kernel.small_tables)


def _places(kernel: Kernel, load: Operation) -> tuple[Value, Value] | None:
    """The numbers of the elements that are loaded, from one address on, all of them if they are.

    With them comes the argument that this address is reckoned from.
    """
    if load.name != "tt.load" or load.attributes.get("isVolatile"):
        return None
    type_, pointers = load.result.type, kernel.makers.get(load.operands[0])
    if pointers is None or pointers.name != "tt.addptr" or not isinstance(type_, TensorType):
        return None
    if not isinstance(type_.element, ScalarType):
        return None
    base = pointers.operands[0]
    while (maker := kernel.makers.get(base)) is not None and _is_same_for_all(maker):
        base = maker.operands[0]
    is_argument = base in kernel.function.regions[0].blocks[0].arguments
    return (pointers.operands[1], base) if is_argument else None


def _narrow(kernel: Kernel, places: Value) -> Value:
    """The same numbers in as few bits as they have before they are widened."""
    while (maker := kernel.makers.get(places)) is not None and maker.name in WIDENED:
        places = maker.operands[0]
    return places


def _is_same_for_all(maker: Operation) -> bool:
    """Whether all elements of a block of addresses are one, or it is the address of one element."""
    is_number = not isinstance(maker.result.type, TensorType)
    return maker.name in _REPEATED or (maker.name == "tt.addptr" and is_number)
