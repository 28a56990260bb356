"""Loads of streams that lie in turn, such as the real and the imaginary parts of numbers.

Each is every second, third or fourth element of a row. Loaded by strides, RVV takes a cycle for an
element; whole rows are loaded sooner, and their lanes told apart by narrowing shifts or by segment
loads.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.blocks.memory_format import memory_type
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer, vector_type
from triton_rvv.lowering.llvm.vp_memory import load_first
from triton_rvv.targets.machine import Machine

__all__ = ["SegmentLoad", "elements_between"]


@dataclass(eq=False)
class SegmentLoad:
    """Blocks that the same loads take from every so many elements of a row, under one mask.

    Args:
        stride: from an element of a stream to its next one.
        first: the addresses of one of the streams.
        places: where the streams loaded so far begin, in elements from that one.
    """

    stride: int
    first: Affine
    places: set[int] = field(default_factory=lambda: {0})

    def place_of(self, builder: Builder, addresses: Affine) -> int | None:
        """Where another block begins that may be one of the streams; it is one from now on."""
        if addresses.components != self.first.components or addresses.extra is not None:
            return None
        element = memory_type(addresses.pointee)
        place = elements_between(builder, element, self.first.base, addresses.base)
        together = {*self.places, place} if place is not None else set()
        if place is None or max(together) - min(together) >= self.stride:
            return None
        self.places.add(place)
        return place

    def run(
        self, builder: Builder, pointers: Affine, place: int, point: VectorIndex, lanes: Val | None
    ) -> Val | None:
        """A run of the stream that begins at `place`; None where strides do no worse.

        Memory is read from the first to the last element of any of the streams only.
        """
        element, size_bytes = memory_type(pointers.pointee), pointers.pointee.size_bytes
        low, high, width = min(self.places), max(self.places), point.width
        behind_last = self.stride - 1 - (high - low)
        by_shifts = self.stride == 2 and size_bytes <= 4 and element != "ptr"
        if not by_shifts and (
            lanes is not None
            or behind_last
            or not self._pays(builder.abilities.machine, size_bytes)
        ):
            return None
        if not builder.abilities.has_vector_lengths and (lanes is not None or behind_last):
            return None
        key = (id(self), point.index, point.start, width)
        if key not in point.memo:
            row = pointers.row_base(builder, point)
            start = builder.mul(point.start, integer(self.stride))
            start = builder.add(start, integer(low - place))
            address = builder.element_pointer(element, row, start)
            type_ = vector_type(element, self.stride * width)
            if lanes is None and not behind_last:
                point.memo[key] = builder.load(type_, address, size_bytes)
            else:
                wanted = (
                    integer(width)
                    if lanes is None
                    else builder.intrinsic("llvm.umin", [lanes, integer(width)])
                )
                count = builder.mul(wanted, integer(self.stride))
                count = builder.add(count, integer(-behind_last))
                zeros = Val(type_, "zeroinitializer")
                point.memo[key] = load_first(
                    builder, address, count, zeros, size_bytes, point.clears
                )
        return self._lanes(builder, point.memo[key], place - low, by_shifts)

    def _pays(self, machine: Machine, size_bytes: int) -> bool:
        """Whether a segment load is faster than one by strides for each stream."""
        by_strides = len(self.places) * machine.segment_register_bytes / size_bytes
        by_segments = machine.segment_cycles(self.stride)
        return by_segments is not None and by_segments < by_strides

    def _lanes(self, builder: Builder, row: Val, place: int, by_shifts: bool) -> Val:
        """Every so many lanes from `place` on."""
        width = row.width // self.stride
        if not by_shifts:
            return builder.shuffle(row, range(place, row.width, self.stride))
        bits = {"float": 32, "half": 16, "bfloat": 16}.get(row.element) or int(row.element[1:])
        pairs = builder.emit(
            f"<{width} x i{2 * bits}>", f"bitcast {row} to <{width} x i{2 * bits}>"
        )
        if place:
            shift = builder.splat(integer(bits, pairs.element), width)
            pairs = builder.binary("lshr", pairs, shift)
        half = builder.cast("trunc", pairs, f"i{bits}")
        type_ = vector_type(row.element, width)
        return half if type_ == half.type else builder.emit(type_, f"bitcast {half} to {type_}")


def elements_between(builder: Builder, element: str, one: Val, other: Val) -> int | None:
    """How many elements an address lies behind another one, where that is one known number."""
    (root, terms, place), (other_root, other_terms, other_place) = (
        _address(builder, element, value) for value in (one, other)
    )
    return other_place - place if (root, terms) == (other_root, other_terms) else None


def _address(builder: Builder, element: str, value: Val) -> tuple[str, list[tuple[str, str]], int]:
    """What an address is made of: a pointer, numbers by type and name, and a constant.

    The numbers count elements; what was added as others, such as before a cast, is left in.
    """
    terms: list[tuple[str, str]] = []
    total = 0
    while builder.counted_in(value) == element:
        _, (value, index) = builder.definition(value)
        constant, found = _number(builder, index)
        total += constant
        terms += found
    return value.ref, sorted(terms), total


def _number(builder: Builder, value: Val) -> tuple[int, list[tuple[str, str]]]:
    """A constant and the numbers that are added to it, none of which wraps."""
    if (number := value.constant) is not None:
        return number, []
    name, operands = builder.definition(value)
    if name == "sext":
        inner, (constant, rest) = operands[0], (0, operands[0])
        added, parts = builder.definition(inner)
        more = parts[1].constant if added == "add" else None
        # What is added to a multiple of a larger power of two does not make it wrap.
        if more is not None and 0 <= more < builder.multiple(parts[0]):
            constant, rest = more, parts[0]
        return constant, [(rest.type, rest.ref)]
    return 0, [(value.type, value.ref)]
