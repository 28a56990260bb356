"""Loads of runs whose columns have a limit, such as those at the edge of an image."""

from __future__ import annotations

from collections.abc import Callable

from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.clamped import limits_of
from triton_rvv.lowering.addresses.lane_range import LaneRange
from triton_rvv.lowering.addresses.masks import Mask
from triton_rvv.lowering.blocks.buffer import memory_type
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import TRUE, Val, integer
from triton_rvv.lowering.llvm.vp_memory import masked_load
from triton_rvv.lowering.memory.accesses import load_scalar, wanted_lanes

__all__ = ["limited_run"]


@rule("load-limited", nothing)
def limited_run(
    builder: Builder,
    pointers: Affine,
    mask: Mask | None,
    point: VectorIndex,
    fill: Callable[[], Val],
) -> Val | None:
    """A run of neighbours in memory, and the elements at the limits in the lanes beyond these.

    None where columns have no such limits, or where a mask lets through more than neighbours.

    Args:
        pointers: the addresses, in the form that is right on the path of `point`.
        fill: gives what the lanes hold that are not loaded.
    """
    limits = limits_of(pointers, point)
    if limits is None:
        return None
    condition, wanted = wanted_lanes(builder, mask, point)
    if condition.width > 1:
        return None
    width, element = point.width, memory_type(pointers.pointee)
    row = pointers.row_base(builder, point)
    value, inside = limits.inside(builder, point.start)
    is_any = builder.conjunction(condition, _are_any(builder, wanted, width))
    nothing = integer(0) if is_any.truth is True else builder.lanes(fill(), 0, 1)

    def at_limit(lane: Val) -> Val:
        place = limits.limited(builder, builder.add(value, lane))
        address = builder.element_pointer(element, row, place)
        one = load_scalar(builder, pointers.pointee, address, is_any, nothing)
        return builder.splat(one, width)

    low, high = wanted.ends(builder, width)
    if inside.first is None or inside.end is None:
        others = at_limit(low if inside.end is None else high)
    else:
        is_low = LaneRange(end=inside.first).where(builder, TRUE, width)
        others = builder.select(is_low, at_limit(low), at_limit(high))
    if is_any.truth is not True:
        others = builder.select(wanted.where(builder, condition, width), others, fill())
    loaded = wanted.within(builder, inside).where(builder, condition, width)
    address = builder.element_pointer(element, row, value)
    return masked_load(builder, address, loaded, others, pointers.pointee.size_bytes)


def _are_any(builder: Builder, lanes: LaneRange, width: int) -> Val:
    """Whether any lane of a run is among some."""
    if lanes == LaneRange():
        return TRUE
    low, high = lanes.first or integer(0), lanes.end or integer(width)
    first, end = builder.smax(low, integer(0)), builder.smin(high, integer(width))
    return builder.compare("slt", first, end)
