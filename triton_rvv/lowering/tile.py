"""One register tile of a matrix product.

A tile keeps its part of the accumulator in vector registers and walks along K:

    for k: b = B[k, columns]; for each row r of the tile: acc[r] += A[r, k] * b

which is one vector load, and one scalar load and one `vfmacc.vf` a row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from triton_rvv.lowering.builder import Builder, Variable
from triton_rvv.lowering.tensors import (
    PLAIN_PATH,
    ROWS_AHEAD,
    Buffer,
    Point,
    Tensor,
    memory_type,
)
from triton_rvv.lowering.values import Val, integer, vector_type
from triton_rvv.types import PointerType, ScalarType

__all__ = [
    "UNROLL_K",
    "Columns",
    "ColumnsReadOnce",
    "PackedColumns",
    "PackedRows",
    "Rows",
    "RowsInPlace",
    "Tile",
]

# Steps along K that are written out. Loads are hidden behind earlier steps only within these.
UNROLL_K = 16
# A row of B is loaded this many steps before it is used: a load of LMUL 2 takes about 18 cycles
# on the X60, and a step with 8 rows 16.
LOOK_AHEAD = 2


class Rows(ABC):
    """The rows of A that a tile multiplies; a run of elements of each lies in one piece.

    Args:
        builder: writes the code.
        element: the type of the elements.
        count: how many rows there are.
        next_run: elements from one run of a row to the next.
        run_length: how many elements a run has.
    """

    def __init__(
        self,
        builder: Builder,
        element: ScalarType | PointerType,
        count: int,
        next_run: int,
        run_length: int,
    ) -> None:
        self._builder = builder
        self._element = element
        self.count = count
        self._next_run = next_run
        self.run_length = run_length

    @abstractmethod
    def address(self, row: int, first: Val) -> Val:
        """Where the run of a row lies that starts at `first` along K."""

    @property
    @abstractmethod
    def next_tile(self) -> Val:
        """Elements from a row to the same row of the tile below."""

    def load(self, row: int, first: Val, offset: Val) -> Val:
        """The element of a row at `first + offset`."""
        element = memory_type(self._element)
        address = self._builder.element_pointer(element, self.address(row, first), offset)
        return self._builder.load(element, address, self._element.size_bytes)

    def prefetch_distance(self, first: Val, depth: Val) -> Val:
        """Elements from a run to what follows it: the next run, or the tile below at the end."""
        builder, run = self._builder, self.run_length
        passed = builder.mul(first, integer(self._next_run // run))
        below = builder.binary("sub", self.next_tile, passed)
        if depth.constant == run:
            return below
        inside = builder.compare("slt", first, builder.binary("sub", depth, integer(run)))
        return builder.select(inside, integer(self._next_run), below)

    def prefetch(self, row: int, first: Val, offset: Val, distance: Val) -> None:
        """Ask for the cache line `distance` elements behind an element; a hint."""
        builder, element = self._builder, memory_type(self._element)
        address = builder.element_pointer(element, self.address(row, first), distance)
        address = builder.element_pointer(element, address, offset)
        read, keep, data = (integer(value, "i32") for value in (0, 3, 1))
        builder.call_void("llvm.prefetch.p0", [address, read, keep, data])


class PackedRows(Rows):
    """Neighbouring rows of a block in panels."""

    def __init__(self, builder: Builder, block: Buffer, first_row: Val, count: int) -> None:
        super().__init__(builder, block.element, count, block.panel_elements, block.panel)
        self._block = block
        self._first_row = first_row

    def address(self, row: int, first: Val) -> Val:
        top = self._block.address_in_panel(self._builder, first, self._first_row, integer(0))
        offset = integer(row * self._block.panel)
        return self._builder.element_pointer(memory_type(self._element), top, offset)

    @property
    def next_tile(self) -> Val:
        return integer(self.count * self._block.panel)


class RowsInPlace(Rows):
    """Rows of a matrix where the kernel's caller has put it.

    Args:
        builder: writes the code.
        element: the type of the elements.
        starts: the address of each row.
        stride: elements from one row to the next.
        run_length: as for every operand of this type.
    """

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

    def address(self, row: int, first: Val) -> Val:
        return self._builder.element_pointer(memory_type(self._element), self._starts[row], first)

    @property
    def next_tile(self) -> Val:
        return self._builder.mul(self._stride, integer(self.count))


class Columns(ABC):
    """The right operand, of which a tile takes some columns.

    Args:
        block: shape and element type.
        panel: how many columns a run of a row has.
        runs: how many neighbouring runs a tile takes of each row.
    """

    def __init__(self, block: Tensor, panel: int, runs: int = 1) -> None:
        self.runs = runs
        self.shape = block.shape
        self.element = block.element
        self.size_bytes = block.type.elements * block.element.size_bytes
        self.panel = panel

    @abstractmethod
    def at(self, builder: Builder, row: Val, column: Val) -> Val:
        """A run of a row, from `column` on."""


class PackedColumns(Columns):
    """A block in panels, for tiles that read it several times."""

    def __init__(self, block: Buffer) -> None:
        super().__init__(block, block.panel)
        self.block = block

    def at(self, builder: Builder, row: Val, column: Val) -> Val:
        address = self.block.address_in_panel(builder, column, row, integer(0))
        type_ = vector_type(memory_type(self.element), self.panel)
        return builder.load(type_, address, self.element.size_bytes)


class ColumnsReadOnce(Columns):
    """A block of which each element is computed where it is multiplied, on a plain path."""

    def __init__(self, block: Tensor, panel: int, runs: int) -> None:
        super().__init__(block, panel, runs)
        self._block = block
        # As many lines as elsewhere: more of them would drive one another out of the cache.
        self._rows_ahead = max(1, ROWS_AHEAD // runs)

    def at(self, builder: Builder, row: Val, column: Val) -> Val:
        ahead = self._rows_ahead
        point = Point((row,), column, self.panel, PLAIN_PATH, rows_ahead=ahead)
        return self._block.at(builder, point)


@dataclass(frozen=True)
class Tile:
    """What one tile multiplies.

    Args:
        builder: writes the code.
        rows: of A.
        panels: the right operand.
        column: the tile's first.
    """

    builder: Builder
    rows: Rows
    panels: Columns
    column: Val

    @property
    def unroll(self) -> int:
        """Steps that are written out at a time."""
        return min(self.rows.run_length, UNROLL_K // self.panels.runs)

    def first_runs_of_b(self) -> list[Variable]:
        """The runs of B that the first multiply-adds need, loaded early."""
        with self.builder.fixed_loads():
            runs = [self._b(*place) for place in self._places(integer(0), self.unroll)[:LOOK_AHEAD]]
        return [Variable(self.builder, run) for run in runs]

    def multiply_add(
        self, base: Val, depth: Val, ahead: Sequence[Variable], totals: Sequence[Variable]
    ) -> None:
        """`unroll` steps along K, written in the order in which an in-order core best runs them.

        Args:
            base: the first of them.
            depth: the extent of K.
            ahead: the runs of B for the first multiply-adds; afterwards, for those that follow.
            totals: the accumulators, of each row one for each run of columns.
        """
        builder, unroll = self.builder, self.unroll
        first, rest = builder.split(base, self.rows.run_length)
        places = self._places(base, unroll)
        if depth.constant != unroll:
            after = builder.add(base, integer(unroll))
            inside = builder.compare("slt", after, depth)
            # Behind the last step nothing is needed: any place will do.
            after = builder.select(inside, after, integer(0))
            places += self._places(after, unroll)[:LOOK_AHEAD]
        distance = self.rows.prefetch_distance(first, depth)
        offsets = [builder.add(rest, integer(k)) for k in range(unroll)]
        b_runs, runs = [run.read() for run in ahead], self.panels.runs
        elements = [self.rows.load(row, first, offsets[0]) for row in range(self.rows.count)]
        for turn in range(unroll * runs):
            step, run = divmod(turn, runs)
            b_runs += [self._b(*place) for place in places[turn + LOOK_AHEAD :][:1]]
            for row in range(self.rows.count):
                factor = builder.splat(elements[row], self.panels.panel)
                if run + 1 == runs and step + 1 < unroll:
                    elements[row] = self.rows.load(row, first, offsets[step + 1])
                if run == 0 and step == unroll // 2:
                    self.rows.prefetch(row, first, rest, distance)
                total = totals[row * runs + run]
                total.write(_multiplied_and_added(builder, factor, b_runs[turn], total.read()))
        for variable, value in zip(ahead, b_runs[unroll * runs :], strict=False):
            variable.write(value)

    def _places(self, base: Val, steps: int) -> list[tuple[Val, int, int]]:
        """The runs of B that some steps multiply, in their order."""
        return [(base, step, run) for step in range(steps) for run in range(self.panels.runs)]

    def _b(self, base: Val, offset: int, run: int) -> Val:
        """A run of the tile's columns of a row of B."""
        row = self.builder.add(base, integer(offset))
        column = self.builder.add(self.column, integer(run * self.panels.panel))
        return self.panels.at(self.builder, row, column)


def _multiplied_and_added(builder: Builder, left: Val, right: Val, total: Val) -> Val:
    if total.element.startswith("i"):
        return builder.add(total, builder.mul(left, right))
    return builder.intrinsic("llvm.fma", (left, right, total))
