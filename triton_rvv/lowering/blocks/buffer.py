"""Arrays that hold a block's elements, and how these look in memory: truth values take a byte."""

from __future__ import annotations

from collections.abc import Sequence

from triton_rvv.frontend.types import PointerType, ScalarType, TensorType
from triton_rvv.lowering.blocks.tensors import Array
from triton_rvv.lowering.blocks.vector_index import Extents, VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer, vector_type
from triton_rvv.lowering.llvm.vp_memory import load_first, store_first

__all__ = ["Buffer", "loaded", "memory_type", "stored"]


def stored(builder: Builder, value: Val) -> Val:
    """Elements as they lie in memory."""
    return builder.cast("zext", value, "i8") if value.element == "i1" else value


def loaded(builder: Builder, value: Val, element: ScalarType | PointerType) -> Val:
    """What was read from memory as elements of that type."""
    return builder.cast("trunc", value, "i1") if element.bits == 1 else value


def memory_type(element: ScalarType | PointerType) -> str:
    """LLVM's type of an element in memory: truth values take a byte."""
    return "i8" if element.bits == 1 else element.llvm


class Buffer(Array):
    """A block that lies on the stack.

    Its columns are cut into panels of one run each, and each panel lies in row-major order. What
    walks down a panel, as the inner loop of a dot product does, reads memory in sequence instead
    of striding over whole rows.

    Args:
        pointer: the array, with room for all elements.
        panel: columns in a panel; runs never cross the border between two.
        part: where this is a part of a larger array, its first row there and the rows in all.
    """

    own_stays_in_place = True

    def __init__(
        self, type_: TensorType, pointer: Val, panel: int, part: tuple[Val, int] | None = None
    ) -> None:
        super().__init__(type_)
        self.pointer = pointer
        self.panel = min(panel, type_.shape[-1])
        self._part = part or (integer(0), type_.elements // type_.shape[-1])

    def evaluate(self, builder: Builder, point: VectorIndex) -> Val:
        address = self._address_of_run(builder, point)
        type_ = vector_type(memory_type(self.element), point.width)
        size_bytes = self.element.size_bytes
        if point.lanes is None or point.width == 1:
            run = builder.load(type_, address, size_bytes)
        else:
            zeros = Val(type_, "zeroinitializer")
            run = load_first(builder, address, point.lanes, zeros, size_bytes, point.clears)
        return loaded(builder, run, self.element)

    def guards_within(self, builder: Builder, extents: Extents) -> list[Val] | None:
        return []

    def alias(self) -> Buffer:
        """The same array as another value of the kernel."""
        return Buffer(self.type, self.pointer, self.panel, self._part)

    def with_rows(self, shape: tuple[int, ...]) -> Buffer:
        """The same array with dimensions of size 1 before its own."""
        return Buffer(TensorType(shape, self.element), self.pointer, self.panel, self._part)

    @property
    def panel_elements(self) -> int:
        """Elements from one panel to the next."""
        return self._part[1] * self.panel

    def plane(self, builder: Builder, position: Val) -> Buffer:
        """The part at one position of the first dimension, in the same memory."""
        type_ = TensorType(self.shape[1:], self.element)
        first, rows = self._part
        own_rows = integer(type_.elements // type_.shape[-1])
        first = builder.add(first, builder.mul(position, own_rows))
        return Buffer(type_, self.pointer, self.panel, (first, rows))

    def write(self, builder: Builder, point: VectorIndex, value: Val) -> None:
        address, run = self._address_of_run(builder, point), stored(builder, value)
        if point.lanes is None or point.width == 1:
            builder.store(run, address, self.element.size_bytes)
        else:
            store_first(builder, run, address, point.lanes, self.element.size_bytes)

    def write_each(
        self, builder: Builder, points: Sequence[VectorIndex], values: Sequence[Val]
    ) -> None:
        """Store the elements at some points, one after another."""
        for point, value in zip(points, values, strict=True):
            self.write(builder, point, value)

    @property
    def is_one_line(self) -> bool:
        """Whether a line of elements lies in one piece, so that a run may begin anywhere."""
        return self.is_row_major or self._part[1] == 1

    @property
    def is_row_major(self) -> bool:
        return self.panel == self.shape[-1]

    @property
    def own_spans_rows(self) -> bool:
        return self.is_row_major

    def _address_of_run(self, builder: Builder, point: VectorIndex) -> Val:
        if point.number is None or not self.is_row_major:
            return self.address(builder, point.coordinates)
        first = builder.mul(self._part[0], integer(self.panel))
        number = builder.add(first, point.number)
        return builder.element_pointer(memory_type(self.element), self.pointer, number)

    def address(self, builder: Builder, coordinates: Sequence[Val]) -> Val:
        """The address of one element."""
        row = integer(0)
        for size, position in zip(self.shape[:-1], coordinates[:-1], strict=True):
            row = builder.add(builder.mul(row, integer(size)), position)
        first, column = builder.split(coordinates[-1], self.panel)
        return self.address_in_panel(builder, first, row, column)

    def address_in_panel(self, builder: Builder, first: Val, row: Val, column: Val) -> Val:
        """The address of an element in the panel that starts at column `first`.

        Args:
            first: a multiple of the panel's size.
            row: over all leading dimensions, in row-major order.
        """
        first_row, rows = self._part
        row = builder.add(first_row, row)
        offset = builder.mul(first, integer(rows))
        offset = builder.add(offset, builder.mul(row, integer(self.panel)))
        offset = builder.add(offset, column)
        return builder.element_pointer(memory_type(self.element), self.pointer, offset)

    def own_buffers(self) -> frozenset[str]:
        return frozenset([self.pointer.ref])
