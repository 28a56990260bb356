"""Gathers from a table that one register holds: it is loaded once, and each lane takes from it.

See `triton_rvv.lowering.ttir.small_tables`.
"""

from __future__ import annotations

from dataclasses import dataclass

from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.blocks.memory_format import memory_type
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.register_groups import first_readable, group_call
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import Val
from triton_rvv.lowering.llvm.vectors import concatenated
from triton_rvv.lowering.llvm.vp_memory import first_lanes

__all__ = ["SmallTable", "small_table"]


@dataclass(frozen=True)
class SmallTable:
    """The elements that a gather may read.

    Args:
        elements: a register of them.
        count: how many of these may be read.
        element_bits: their size in memory.
    """

    elements: Val
    count: int
    element_bits: int

    def run(self, builder: Builder, pointers: Affine, point: VectorIndex, fill: Val) -> Val | None:
        """What the lanes at `point` read, by instructions on one register each."""
        if pointers.extra is None:
            return None
        places = builder.resize(pointers.extra.at(builder, point), f"i{self.element_bits}")
        width = min(point.width, self.elements.width)
        parts = [builder.lanes(places, first, width) for first in range(0, point.width, width)]
        value = concatenated(builder, [self._chosen(builder, part) for part in parts])
        if point.lanes is None:
            return value
        return builder.select(first_lanes(builder, point.lanes, point.width), value, fill)

    def _chosen(self, builder: Builder, places: Val) -> Val:
        """The elements at places that one register holds, among as many lanes as the table has."""
        width, room = places.width, max(places.width, 1 << (self.count - 1).bit_length())
        table = builder.lanes(self.elements, 0, room)
        places = builder.shuffle(places, [*range(width), *[None] * (room - width)])
        chosen = group_call(builder, "vrgather.vv.{}", [None, table, places])
        return builder.lanes(chosen, 0, width)


@rule("keep-tables", nothing)
def small_table(builder: Builder, pointers: Affine, count: int | None) -> SmallTable | None:
    """The table that a load gathers `count` elements of at most, loaded here.

    Some of them may lie where no memory is: what cannot be read is not asked for. The first one
    lies where an argument points to.
    """
    is_plain = all(part.is_zero for part in pointers.components) and pointers.wrapped is None
    if count is None or pointers.extra is None or not is_plain:
        return None
    element = memory_type(pointers.pointee)
    elements = first_readable(builder, element, pointers.base, count)
    return SmallTable(elements, count, 8 * pointers.pointee.size_bytes)
