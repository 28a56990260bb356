"""How long the last run of a row is, which has as many lanes as are left."""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.masks import Mask
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.tensors import EXPENSIVE, Tensor, recipes_under
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import rule
from triton_rvv.lowering.loops.vector_shape import widest_bits

__all__ = ["tail_width"]

# Registers that such a run takes at most: of recipes that hold few values, and of others.
_FEW_VALUES_REGISTERS, _REGISTERS = 8, 4
_FEW_VALUES, _FEW_PLACES = 6, 3
# Masks compare places.
_PLACE_BITS = 32


@rule("lengthen-tails", lambda builder, tensors, width, together, rest: width)
def tail_width(
    builder: Builder, tensors: Sequence[Tensor], width: int, together: int, rest: int | None
) -> int:
    """How many elements a run takes that is the last one of a row, and has as many lanes as count.

    One long run takes less than some short ones, each of which is told its number of lanes, where
    neighbours are read from neighbours: by strides, lanes that do not count take as long.

    Args:
        tensors: the recipes.
        width: the elements of other runs.
        together: how many of those are visited side by side.
        rest: elements behind the last of such groups, where that is known.
    """
    below = recipes_under(tensors)
    places = [each for each in below if isinstance(each, Affine) and each.own_memory_bits()]
    cost = sum(tensor.cost for tensor in tensors)
    registers_bits = builder.abilities.rvv_bits
    if cost > EXPENSIVE or not registers_bits or not all(_is_line(builder, p) for p in places):
        return width
    is_light = cost <= _FEW_VALUES and len(places) <= _FEW_PLACES
    registers = _FEW_VALUES_REGISTERS if is_light else _REGISTERS
    bits = max(widest_bits(tensors), *(_PLACE_BITS for each in below if isinstance(each, Mask)), 0)
    panels = [each.panel for each in below if isinstance(each, Buffer)]
    most = min(registers * registers_bits // bits, width * together, tensors[0].shape[-1], *panels)
    wanted = rest or 2 * width
    while width < wanted and 2 * width <= most:
        width *= 2
    return width


def _is_line(builder: Builder, addresses: Affine) -> bool:
    """Whether neighbours are in one piece of memory, or in few by turns, or are one element."""
    stride = addresses.last_stride(builder, linear=True)
    return bool(addresses.components[-1].digits) or (
        stride is not None and stride.constant in (0, 1)
    )
