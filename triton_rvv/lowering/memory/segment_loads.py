"""Loads of streams that lie in turn, such as the real and the imaginary parts of numbers.

Each is every second, third or fourth element of a row. Loaded by strides, RVV takes a cycle for an
element; whole rows are loaded sooner, and their lanes told apart by narrowing shifts or by segment
loads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.blocks.buffer import memory_type
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import Val, element_bits, integer, vector_type
from triton_rvv.lowering.llvm.vectors import concatenated
from triton_rvv.lowering.llvm.vp_memory import load_first
from triton_rvv.lowering.ttir.access import Streams
from triton_rvv.targets.machine import Machine

__all__ = ["SegmentLoad", "segment_lanes", "segment_run"]

# What RVV's segment loads and stores may take (the LMUL times the fields). LLVM makes shuffles of
# what takes more.
_SEGMENT_REGISTERS = 8


@dataclass(frozen=True)
class SegmentLoad:
    """Blocks that loads take from every so many elements of the same rows.

    Args:
        streams: which elements they take.
        lowered_block: the lowered block of code of these loads: a function's is lowered for each
            of its calls, with other addresses.
    """

    streams: Streams
    lowered_block: int


@rule("load-segments", nothing)
def segment_run(
    builder: Builder,
    load: SegmentLoad,
    pointers: Affine,
    place: int,
    point: VectorIndex,
    ask: Callable[[Val, VectorIndex], None],
) -> Val | None:
    """A run of the stream that begins at `place`; None where strides do no worse.

    Memory is read from the first to the last element of any of the streams only.

    Args:
        ask: asks for what follows a run of all streams, of its address and place.
    """
    element, size_bytes = memory_type(pointers.pointee), pointers.pointee.size_bytes
    streams, lanes, width = load.streams, point.lanes, point.width
    low, high = min(streams.places), max(streams.places)
    behind_last = streams.stride - 1 - (high - low)
    by_shifts = streams.stride == 2 and size_bytes <= 4 and element != "ptr"
    if not by_shifts and (
        lanes is not None
        or behind_last
        or not _pays(builder.abilities.machine, streams, size_bytes)
    ):
        return None
    if not builder.abilities.has_vector_lengths and (lanes is not None or behind_last):
        return None
    piece = width
    if builder.abilities.rvv_bits and not by_shifts and width.bit_count() == 1:
        of_register = builder.abilities.rvv_bits // (8 * size_bytes)
        piece = min(width, segment_lanes(streams.stride, of_register))
    key = (load, point.index, point.start, width)
    if (key, 0) not in point.memo:
        row = pointers.row_base(builder, point)
        first = builder.mul(point.start, integer(streams.stride))
        start = builder.add(first, integer(low - place))
        address = builder.element_pointer(element, row, start)
        type_ = vector_type(element, streams.stride * piece)
        ask(address, replace(point, start=first, width=streams.stride * width))
        if lanes is None and not behind_last:
            for at in range(0, width, piece):
                part = builder.element_pointer(element, address, integer(streams.stride * at))
                point.memo[key, at] = builder.load(type_, part, size_bytes)
        else:
            wanted = integer(width)
            if lanes is not None:
                wanted = builder.intrinsic("llvm.umin", [lanes, wanted])
            count = builder.mul(wanted, integer(streams.stride))
            count = builder.add(count, integer(-behind_last))
            zeros = Val(type_, "zeroinitializer")
            row = load_first(builder, address, count, zeros, size_bytes, point.clears)
            point.memo[key, 0] = row
    rows = [point.memo[key, at] for at in range(0, width, piece)]
    parts = [_lanes(builder, row, streams.stride, place - low, by_shifts) for row in rows]
    return concatenated(builder, parts)


def segment_lanes(count: int, of_register: int) -> int:
    """The most lanes of each of `count` runs that a segment load or store takes, a power of 2."""
    registers = _SEGMENT_REGISTERS // count
    return (1 << registers.bit_length() - 1) * of_register


def _pays(machine: Machine, streams: Streams, size_bytes: int) -> bool:
    """Whether a segment load is faster than one by strides for each stream."""
    by_strides = len(streams.places) * machine.segment_register_bytes / size_bytes
    by_segments = machine.segment_cycles(streams.stride)
    return by_segments is not None and by_segments < by_strides


def _lanes(builder: Builder, row: Val, stride: int, place: int, by_shifts: bool) -> Val:
    """Every so many lanes from `place` on."""
    if not by_shifts:
        return builder.shuffle(row, range(place, row.width, stride))
    width = row.width // stride
    bits = element_bits(row.element)
    pairs = builder.reinterpret(row, f"<{width} x i{2 * bits}>")
    if place:
        shift = builder.splat(integer(bits, pairs.element), width)
        pairs = builder.binary("lshr", pairs, shift)
    half = builder.cast("trunc", pairs, f"i{bits}")
    type_ = vector_type(row.element, width)
    return half if type_ == half.type else builder.reinterpret(half, type_)
