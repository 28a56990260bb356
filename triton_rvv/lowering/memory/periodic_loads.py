"""Loads from places that follow several lines in turn: see `DivModPow2`."""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.components import Component
from triton_rvv.lowering.blocks.buffer import memory_type
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import Val, integer, vector_type
from triton_rvv.lowering.llvm.vectors import in_turn
from triton_rvv.lowering.llvm.vp_memory import load_first

__all__ = ["periodic_run"]

# Of RVV's elements.
_WIDEST_BITS = 64


@rule("load-periods", nothing)
def periodic_run(builder: Builder, pointers: Affine, point: VectorIndex) -> Val | None:
    """The elements of a run on a linear path, by one load for each different line.

    None unless each line is contiguous. Lanes that are not wanted are 0.
    """
    last = pointers.components[-1]
    is_known = bool(last.digits) and pointers.extra is None and not last.without_line
    if not is_known or not point.version.linear:
        return None
    to_next, offsets = _offsets(builder, last, pointers.index_type)
    if point.width < 2 * len(offsets):
        return None
    if to_next.constant == 0 and [each.constant for each in offsets] == [*range(len(offsets))]:
        return _again_and_again(builder, pointers, point, len(offsets))
    if to_next.constant != 1:
        return None
    element, size_bytes = memory_type(pointers.pointee), pointers.pointee.size_bytes
    type_ = vector_type(element, point.width // len(offsets))
    origin, bits = point.version.origin, len(offsets).bit_length() - 1
    start = point.start if origin is None else builder.binary("sub", point.start, origin)
    group = builder.shift_right(start, bits)
    row = builder.element_pointer(element, _first_period(builder, pointers, point), group)
    lines: dict[str, Val] = {}
    for place, offset in enumerate(offsets):
        if offset.ref not in lines:
            address = builder.element_pointer(element, row, offset)
            lines[offset.ref] = _line(builder, type_, address, point, place, size_bytes)
    return in_turn(builder, [lines[offset.ref] for offset in offsets])


def _first_period(builder: Builder, pointers: Affine, point: VectorIndex) -> Val:
    """The address at the origin of a path, where its periods begin."""
    row, origin = pointers.row_base(builder, point), point.version.origin
    if origin is None:
        return row
    stride = builder.resize(
        pointers.components[-1].linear_stride(builder, pointers.index_type), "i64"
    )
    distance = builder.mul(builder.resize(origin, "i64"), stride)
    return builder.element_pointer(memory_type(pointers.pointee), row, distance)


def _again_and_again(
    builder: Builder, pointers: Affine, point: VectorIndex, period: int
) -> Val | None:
    """Neighbours that a run repeats from its start to its end, such as one row of a small table."""
    if point.lanes is not None:
        return None
    element, size_bytes = memory_type(pointers.pointee), pointers.pointee.size_bytes
    first = _first_period(builder, pointers, point)
    row = builder.load(vector_type(element, period), first, size_bytes)
    bits = 8 * size_bytes * period
    if bits > _WIDEST_BITS or element == "ptr":
        return builder.shuffle(row, [*range(period)] * (point.width // period))
    whole = builder.reinterpret(row, f"<1 x i{bits}>")
    repeated = builder.shuffle(whole, [0] * (point.width // period))
    return builder.reinterpret(repeated, vector_type(element, point.width))


def _line(
    builder: Builder, type_: str, address: Val, point: VectorIndex, place: int, align: int
) -> Val:
    """Every so many lanes of a run, from lane `place` on, which lie next to one another."""
    if point.lanes is None:
        return builder.load(type_, address, align)
    zeros = Val(type_, "zeroinitializer")
    period = point.width // zeros.width
    more = builder.add(point.lanes, integer(period - 1 - place))
    count = builder.shift_right(more, period.bit_length() - 1)
    return load_first(builder, address, count, zeros, align, point.clears)


def _offsets(builder: Builder, part: Component, index_type: str) -> tuple[Val, Sequence[Val]]:
    """From one of so many neighbours as the period to the same one of the next, in elements.

    And how far each of them lies from the first.
    """
    period = max(digits.period for digits, _ in part.digits)
    stride = part.linear_stride(builder, index_type)
    to_next = builder.mul(stride, integer(period, index_type))
    offsets = [builder.mul(stride, integer(place, index_type)) for place in range(period)]
    for digits, scale in part.digits:
        places = [digits.beyond_start(builder, integer(p, index_type)) for p in range(period + 1)]
        scaled = [builder.mul(scale, place) for place in places]
        to_next = builder.add(to_next, scaled.pop())
        offsets = [builder.add(*pair) for pair in zip(offsets, scaled, strict=True)]
    return to_next, offsets
