"""Finds gathers from so few places behind an argument that one register holds all of these.

    weight = load(table + (byte & 15))

Known is how many places there are, by the range of the numbers that are looked up, and not how
long the table is. Elements of 8 and 16 bits are looked at: of wider ones, too few fit.
"""

from __future__ import annotations

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.ttir.block_ranges import ranges_of_blocks
from triton_rvv.lowering.ttir.kernel import Kernel

__all__ = ["find_small_tables"]

_REPEATED = ("tt.splat", "tt.expand_dims", "tt.broadcast")
_MAX_BITS = 16


def find_small_tables(kernel: Kernel) -> int:
    """Finds gathers from so few places behind an argument that one register holds all of these."""
    if kernel.target.backend != "rvv":
        return 0
    found = {each: place for each in kernel.operations if (place := _places(kernel, each))}
    ranges = ranges_of_blocks(kernel.function) if found else {}
    for load, places in found.items():
        type_ = load.result.type
        assert isinstance(type_, TensorType)
        assert isinstance(type_.element, ScalarType)
        least, most = ranges.get(places, (-1, 0))
        lanes = kernel.target.vector_bits // max(type_.element.bits, 8)
        if 0 <= least <= most < min(lanes, type_.shape[-1]):
            kernel.small_tables[load] = most + 1
    return len(kernel.small_tables)


def _places(kernel: Kernel, load: Operation) -> Value | None:
    """The numbers of the elements that are loaded from an argument on, all of them, if they are."""
    if load.name != "tt.load" or len(load.operands) != 1 or load.attributes.get("isVolatile"):
        return None
    type_, pointers = load.result.type, kernel.makers.get(load.operands[0])
    if pointers is None or pointers.name != "tt.addptr" or not isinstance(type_, TensorType):
        return None
    if not isinstance(type_.element, ScalarType) or type_.element.bits > _MAX_BITS:
        return None
    base = pointers.operands[0]
    while (maker := kernel.makers.get(base)) is not None and maker.name in _REPEATED:
        base = maker.operands[0]
    return pointers.operands[1] if base in kernel.function.regions[0].block.arguments else None
