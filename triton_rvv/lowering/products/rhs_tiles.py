"""Where the right operand of a product lies, and how a tile reads its columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

from triton_rvv.lowering.blocks.buffer import Buffer, memory_type
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import PLAIN_VERSION, VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer, vector_type
from triton_rvv.lowering.memory.load_recipe import Load
from triton_rvv.targets.machine import Machine

__all__ = ["ComputedRhs", "KStep", "PackedRhs", "Rhs", "RhsInPlace", "RhsStep"]

NOTHING = integer(0)


@dataclass(frozen=True)
class KStep:
    """Steps along K that are written out, in the columns of one tile.

    Args:
        column: the tile's first.
        base: the first step.
        after: the first one of the next turn; 0 behind the last turn.
        inside: whether there is a next turn, as i1.
        loaded: how many steps ahead loads are.
        stays: whether the next tile takes the same columns, and not those beside them.
    """

    column: Val
    base: Val
    after: Val
    inside: Val
    steps: int
    loaded: int
    stays: bool

    def row(self, builder: Builder, step: int) -> Val:
        """The row of B in a step, or in one of the next turn."""
        if step < self.steps:
            return builder.add(self.base, integer(step))
        return builder.add(self.after, integer(step - self.steps))


class RhsStep(ABC):
    """The rows of B that some steps along K multiply, and those of the next turn."""

    @abstractmethod
    def load(self, step: int, run: int) -> Val:
        """A run of the row in a step, up to twice as many as a turn has.

        Behind the last turn, nothing is needed: any place will do.
        """

    def prefetch(self, step: int) -> None:
        """Ask in one of a turn's steps for what will be needed: by default, `load` does that."""
        return


@dataclass(frozen=True)
class Rhs(ABC):
    """The right operand, of which a tile takes some columns.

    Args:
        panel: how many columns a run of a row has.
        machine: what it is read on.
        runs: how many neighbouring runs a tile takes of each row.
    """

    block: Tensor
    panel: int
    machine: Machine
    runs: int = 1

    # Whether zeros lie behind the last step along K up to a whole turn.
    is_padded = False
    # Whether it is read where the kernel's caller has put it.
    lies_in_memory = False

    @property
    def width(self) -> int:
        """Columns of a tile."""
        return self.panel * self.runs

    @property
    def size_bytes(self) -> int:
        """Bytes of the whole operand."""
        return self.block.type.elements * self.block.element.size_bytes

    def of_tiles(self, most_runs: int) -> Rhs:
        """The same operand for tiles of so many runs, or as many as there are."""
        return replace(self, runs=max(1, min(most_runs, self.block.shape[-1] // self.panel)))

    @abstractmethod
    def turn(self, builder: Builder, turn: KStep) -> RhsStep:
        """What is read in a turn."""


@dataclass(frozen=True)
class PackedRhs(Rhs):
    """A block in panels, for tiles that read it several times.

    Its lines are asked for: rows of A and C that go by drive some of a panel out of the L1 cache.
    """

    is_padded = True

    def of_tiles(self, most_runs: int) -> Rhs:
        """As for all columns, but of few panels: their lines often share a set of the cache."""
        return super().of_tiles(min(most_runs, self.machine.max_packed_runs))

    def turn(self, builder: Builder, turn: KStep) -> RhsStep:
        return _PackedStep(builder, self, turn)


class _PackedStep(RhsStep):
    def __init__(self, builder: Builder, columns: PackedRhs, turn: KStep) -> None:
        assert isinstance(columns.block, Buffer)
        self._builder = builder
        self._block = columns.block
        self._turn = turn
        self._line_bytes = columns.machine.line_bytes
        self._is_prefetched = turn.inside.truth is not False
        starts = [integer(run * columns.panel) for run in range(columns.runs)]
        self._columns = [builder.add(turn.column, start) for start in starts]

    def load(self, step: int, run: int) -> Val:
        builder, block = self._builder, self._block
        row = self._turn.row(builder, step)
        address = block.address_in_panel(builder, self._columns[run], row, integer(0))
        type_ = vector_type(memory_type(block.element), block.panel)
        return builder.load(type_, address, block.element.size_bytes)

    def prefetch(self, step: int) -> None:
        builder, block, turn = self._builder, self._block, self._turn
        run_bytes, line_bytes = block.panel * block.element.size_bytes, self._line_bytes
        if not self._is_prefetched or step * run_bytes % line_bytes:
            return
        # What the next turn reads, or the next tile: its panel is this one, or lies behind it.
        row, further = (turn.after, step) if turn.stays else (turn.base, turn.steps + step)
        shift = integer(0)
        if not turn.stays:  # a tile takes several panels
            to_next = (len(self._columns) - 1) * block.panel_elements
            shift = builder.select(turn.inside, shift, integer(to_next))
        for column in self._columns:
            first = block.address_in_panel(builder, column, row, shift)
            for place_bytes in range(0, run_bytes, line_bytes):
                offset = integer(further * run_bytes + place_bytes)
                builder.prefetch(builder.element_pointer("i8", first, offset))


@dataclass(frozen=True)
class RhsInPlace(Rhs):
    """A matrix where the kernel's caller has put it, whose rows lie in one piece each.

    Behind its last row or column, nothing may be read.

    Args:
        row_bytes: from one row to the next, of unknown origin.
        may_collide: whether rows may share a few sets of the L1 cache, where a few lines on their
            way evict each other.
    """

    row_bytes: Val = NOTHING
    may_collide: bool = False

    lies_in_memory = True

    @property
    def rows_ahead(self) -> int:
        """How many rows further on than those that are loaded lines are asked for."""
        if self.may_collide:  # several runs of a row are loaded one after another
            return 0 if self.runs > 1 else 1
        lines = -(-self.width * self.block.element.size_bytes // self.machine.line_bytes)
        return min(2, max(1, self.machine.lines_in_flight // lines))

    def turn(self, builder: Builder, turn: KStep) -> RhsStep:
        return _StepInPlace(builder, self, turn)


class _StepInPlace(RhsStep):
    """A pointer goes from row to row, into the next turn.

    Behind the block's last row lie those that the next turn of a loop along K reads.
    """

    def __init__(self, builder: Builder, columns: RhsInPlace, turn: KStep) -> None:
        assert isinstance(columns.block, Load)
        self._builder = builder
        self._columns = columns
        self._turn = turn
        self._element = memory_type(columns.block.element)
        start, stride = columns.block.rows_in_place(builder, integer(0))
        self._stride, zero = builder.resize(stride, "i64"), integer(0)
        first = builder.element_pointer(self._element, start, builder.mul(turn.base, self._stride))
        self._rows = [builder.element_pointer(self._element, first, turn.column)]
        # Lines that were read right before are still in the cache.
        back = builder.mul(integer(-turn.loaded), self._stride)
        self._back = builder.select(turn.inside, zero, back)

    def _at(self, step: int, column: int, behind: Val) -> Val:
        """The address of a column in a step; `behind` is added in steps of the next turn."""
        builder, element = self._builder, self._element
        while len(self._rows) <= step:
            below = builder.element_pointer("i8", self._rows[-1], self._columns.row_bytes)
            self._rows.append(builder.on_from_here(below))
        row = self._rows[step]
        if step >= self._turn.steps:
            row = builder.element_pointer(element, row, behind)
        return builder.element_pointer(element, row, integer(column))

    def load(self, step: int, run: int) -> Val:
        columns = self._columns
        type_ = vector_type(self._element, columns.panel)
        address = self._at(step, run * columns.panel, self._back)
        return self._builder.load(type_, address, columns.block.element.size_bytes)

    def prefetch(self, step: int) -> None:
        builder, columns = self._builder, self._columns
        further = min(self._turn.loaded + columns.rows_ahead, self._turn.steps)
        size_bytes, line_bytes = columns.block.element.size_bytes, columns.machine.line_bytes
        places = list(range(0, columns.width, line_bytes // size_bytes))
        aligned_bytes = min(columns.width * size_bytes, line_bytes)
        if builder.multiple(self._stride) * size_bytes % aligned_bytes:
            places.append(columns.width - 1)
        for place in places:
            builder.prefetch(self._at(step + further, place, integer(0)))


@dataclass(frozen=True)
class ComputedRhs(Rhs):
    """A block of which each element is computed where it is multiplied, on a plain path."""

    def turn(self, builder: Builder, turn: KStep) -> RhsStep:
        return _ComputedStep(builder, self, turn)


class _ComputedStep(RhsStep):
    def __init__(self, builder: Builder, columns: ComputedRhs, turn: KStep) -> None:
        self._builder = builder
        self._columns = columns
        self._turn = turn
        self._rows_ahead = max(1, columns.machine.lines_in_flight // columns.runs)

    def load(self, step: int, run: int) -> Val:
        builder, panel = self._builder, self._columns.panel
        column = builder.add(self._turn.column, integer(run * panel))
        row, ahead = self._turn.row(builder, step), self._rows_ahead
        return self._columns.block.at(
            builder, VectorIndex((row,), column, panel, PLAIN_VERSION, rows_ahead=ahead)
        )
