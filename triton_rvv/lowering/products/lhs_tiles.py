"""Where the left operand of a product lies, and how a tile reads its rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from triton_rvv.frontend.types import PointerType, ScalarType
from triton_rvv.lowering.blocks.buffer import Buffer, memory_type
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.memory.prefetches import ends_of_run

__all__ = ["Lhs", "PackedLhs", "TransposedPackedLhs", "UnpackedLhs"]


class Lhs(ABC):
    """The rows of A that a tile multiplies; a run of elements of each lies in one piece.

    Pointers walk along the rows: one for each, or one for all where these lie at known distances.

    Args:
        count: how many rows there are.
        next_run: elements from one run of a row to the next.
        run_length: how many elements a run has, a power of two.
        next_step: elements from one step along K to the next in a run.
    """

    # Whether zeros lie behind the last step along K up to a whole turn of `unroll_k` steps.
    is_padded = True

    def __init__(
        self,
        builder: Builder,
        element: ScalarType | PointerType,
        count: int,
        next_run: int,
        run_length: int,
        next_step: int = 1,
    ) -> None:
        self._builder = builder
        self._element = element
        self._type = memory_type(element)
        self.count = count
        self._next_run = next_run
        self.run_length = run_length
        self._next_step = next_step

    @property
    @abstractmethod
    def starts(self) -> Sequence[Val]:
        """Where the pointers start."""

    @property
    @abstractmethod
    def next_tile(self) -> Val:
        """Elements from a row to the same row of the tile below."""

    @abstractmethod
    def address(self, pointers: Sequence[Val], row: int) -> Val:
        """Where the pointers are in a row."""

    def load(self, pointers: Sequence[Val], row: int, offset: int) -> Val:
        """The element of a row so many steps along K from where the pointers are.

        An integer fills a register: narrower ones that are carried would be extended at each use.
        """
        builder = self._builder
        address = builder.element_pointer(
            self._type, self.address(pointers, row), integer(offset * self._next_step)
        )
        element = builder.load(self._type, address, self._element.size_bytes)
        return builder.resize(element, "i64") if self._type.startswith("i") else element

    def moved(self, pointers: Sequence[Val], distance: Val) -> list[Val]:
        """The pointers so many elements further on."""
        return [
            self._builder.element_pointer(self._type, pointer, distance) for pointer in pointers
        ]

    def advance(self, base: Val, after: Val, inside: Val, unroll: int) -> Val:
        """Elements that the pointers move from one position of K to another.

        Args:
            base, after: both multiples of `unroll`.
            inside: whether `after` is `unroll` steps further on; if not, any place will do.
            unroll: how many steps are taken at a time.
        """
        builder, run = self._builder, self.run_length
        if self._next_run == run:
            return builder.select(inside, integer(unroll), integer(0))
        # A choice between other constants would be a branch, which takes the steps apart.
        return builder.binary("sub", self._offset(after, unroll), self._offset(base, unroll))

    def _offset(self, position: Val, unroll: int) -> Val:
        """Elements from the start of a row to a position, a multiple of `unroll`."""
        first, rest = position, integer(0)
        if unroll < self.run_length:
            first, rest = self._builder.split(position, self.run_length)
        runs = self._builder.mul(first, integer(self._next_run // self.run_length))
        return self._builder.add(runs, self._builder.mul(rest, integer(self._next_step)))

    def prefetch_distance(self, position: Val, depth: Val) -> Val:
        """Elements from a run to what follows it: the next run, or the tile below at the end."""
        builder, run = self._builder, self.run_length
        first, _ = builder.split(position, run) if run > 1 else (position, integer(0))
        passed = builder.mul(first, integer(self._next_run // run))
        below = builder.binary("sub", self.next_tile, passed)
        if depth.constant == run:
            return below
        inside = builder.compare("slt", first, builder.binary("sub", depth, integer(run)))
        return builder.select(inside, integer(self._next_run), below)

    def lines_ahead(
        self, pointers: Sequence[Val], distance: Val, step: int, unroll: int
    ) -> list[Val]:
        """Addresses in the cache lines to ask for in one of `unroll` steps along K.

        They are so many elements further on than where the pointers are.
        """
        rows = [row for row in range(self.count) if row * unroll // self.count == step]
        starts = [self.address(pointers, row) for row in rows]
        return [self._builder.element_pointer(self._type, start, distance) for start in starts]


class PackedLhs(Lhs):
    """Neighbouring rows of a block in panels."""

    def __init__(self, builder: Builder, block: Buffer, first_row: Val, count: int) -> None:
        super().__init__(builder, block.element, count, block.panel_elements, block.panel)
        self._block = block
        self._first_row = first_row

    @property
    def starts(self) -> Sequence[Val]:
        zero = integer(0)
        return [self._block.address_in_panel(self._builder, zero, self._first_row, zero)]

    def address(self, pointers: Sequence[Val], row: int) -> Val:
        offset = integer(row * self._block.panel)
        return self._builder.element_pointer(self._type, pointers[0], offset)

    @property
    def next_tile(self) -> Val:
        return integer(self.count * self._block.panel)


class TransposedPackedLhs(Lhs):
    """Neighbouring rows of a block whose transpose lies in panels: a run of rows for each step.

    Args:
        block: the transpose; its panels are at least as wide as a tile has rows.
        first_row: of the tile, a multiple of `count`.
    """

    def __init__(self, builder: Builder, block: Buffer, first_row: Val, count: int) -> None:
        run = min(block.shape[-2], builder.abilities.machine.unroll_k)
        super().__init__(
            builder, block.element, count, run * block.panel, run, next_step=block.panel
        )
        self._block = block
        self._first_row = first_row

    @property
    def starts(self) -> Sequence[Val]:
        first, place = self._builder.split(self._first_row, self._block.panel)
        return [self._block.address_in_panel(self._builder, first, integer(0), place)]

    def address(self, pointers: Sequence[Val], row: int) -> Val:
        return self._builder.element_pointer(self._type, pointers[0], integer(row))

    @property
    def next_tile(self) -> Val:
        return integer(self._block.panel_elements)

    def lines_ahead(
        self, pointers: Sequence[Val], distance: Val, step: int, unroll: int
    ) -> list[Val]:
        further = self._builder.add(distance, integer(step * self._next_step))
        return [self._builder.element_pointer(self._type, pointers[0], further)]


class UnpackedLhs(Lhs):
    """Rows of a matrix where the kernel's caller has put it.

    Behind the last step along K, nothing may be read.
    """

    is_padded = False

    def __init__(
        self,
        builder: Builder,
        element: ScalarType | PointerType,
        starts: Sequence[Val],
        stride: Val,
        run_length: int,
    ) -> None:
        super().__init__(builder, element, len(starts), run_length, run_length)
        self._starts = starts
        self._stride = stride

    @property
    def starts(self) -> Sequence[Val]:
        return self._starts

    def address(self, pointers: Sequence[Val], row: int) -> Val:
        return pointers[row]

    @property
    def next_tile(self) -> Val:
        return self._builder.mul(self._stride, integer(self.count))

    def lines_ahead(
        self, pointers: Sequence[Val], distance: Val, step: int, unroll: int
    ) -> list[Val]:
        starts = super().lines_ahead(pointers, distance, step, unroll)
        run = self._element, self.run_length, self._stride
        return [end for start in starts for end in ends_of_run(self._builder, start, *run)]
