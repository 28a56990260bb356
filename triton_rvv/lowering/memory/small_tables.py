"""Gathers from a table that registers hold: it is loaded once, and each lane takes from it.

See `triton_rvv.lowering.ttir.small_tables`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.masks import Mask
from triton_rvv.lowering.blocks.buffer import memory_type
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.register_groups import first_readable, group_call
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.llvm.vectors import concatenated
from triton_rvv.lowering.memory.accesses import condition_at, first_where
from triton_rvv.lowering.ttir.kernel import FoundTable
from triton_rvv.targets.machine import Machine

__all__ = ["SmallTable", "small_table"]

_MOST_PLACE_BITS = 16  # vrgatherei16: a register of places is enough for two of wider elements


@dataclass(frozen=True)
class SmallTable:
    """The elements that a gather may read.

    Args:
        elements: registers of them.
        places: which of them each lane reads.
        count: how many there are.
        element_bits: their size in memory.
        fits: true at run time where they were loaded.
        machine: what lookups take.
    """

    elements: Val
    places: Tensor
    count: int
    element_bits: int
    fits: Val
    machine: Machine

    def run(
        self,
        builder: Builder,
        condition: Val,
        point: VectorIndex,
        fill: Callable[[], Val],
    ) -> Val | None:
        """What the lanes at `point` read, by instructions on as many registers as the table has."""
        is_there = self.fits.truth is True or point.version.fits
        width = min(point.width, self.elements.width)
        room = max(width, 1 << (self.count - 1).bit_length())
        registers = room * self.element_bits / builder.abilities.rvv_bits
        if not is_there or not self.machine.looks_up(registers, width):
            return None
        bits = min(self.element_bits, _MOST_PLACE_BITS)
        places = builder.resize(self.places.at(builder, point), f"i{bits}")
        parts = [builder.lanes(places, first, width) for first in range(0, point.width, width)]
        value = concatenated(builder, [self._chosen(builder, part, room) for part in parts])
        wanted = first_where(builder, condition, point.lanes, point.width)
        if wanted.truth is True:
            return value
        return builder.select(builder.splat(wanted, point.width), value, fill())

    def _chosen(self, builder: Builder, places: Val, room: int) -> Val:
        """The elements at places that registers hold, among as many lanes as the table has."""
        width, table = places.width, builder.lanes(self.elements, 0, room)
        places = builder.shuffle(places, [*range(width), *[None] * (room - width)])
        name = "vrgatherei16.vv.{}" if self.element_bits > _MOST_PLACE_BITS else "vrgather.vv.{}"
        chosen = group_call(builder, name, [None, table, places])
        return builder.lanes(chosen, 0, width)


@rule("keep-tables", nothing)
def small_table(
    context: Context, found: FoundTable, pointers: Affine, mask: Mask | None
) -> SmallTable | None:
    """The table that a load gathers from, loaded here.

    Some of it may lie where no memory is: what cannot be read is not asked for. The first element
    lies between what an argument points to and the element that the load's first lane reads, if
    the latter is wanted and no earlier than the former: no hole is there.
    """
    is_plain = all(part.is_zero for part in pointers.components) and pointers.wrapped is None
    if pointers.extra is None or not is_plain or (mask is not None and mask.operands):
        return None
    builder, argument = context.builder, context.scalar(found.argument)
    first = VectorIndex((integer(0),) * (len(pointers.shape) - 1), integer(0), 1)
    fits = condition_at(builder, mask, first)
    if pointers.base != argument:
        fits = builder.conjunction(fits, builder.compare("uge", pointers.base, argument))
    if fits.truth is False:
        return None
    element, bits = memory_type(pointers.pointee), 8 * pointers.pointee.size_bytes
    elements = first_readable(builder, element, pointers.base, found.count, fits)
    places, machine = context.tensor(found.places), context.target.machine
    # The table asks for the places from now on, and no longer the addresses, which others may use.
    places.uses = max(places.uses, 1) + 1
    pointers.finish()
    return SmallTable(elements, places, found.count, bits, fits, machine)
