"""B for a matrix unit: a few of its columns at a time, in the order in which tiles read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import ANY_VERSION, PLAIN_VERSION, VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer, vector_type
from triton_rvv.lowering.llvm.vectors import in_turn
from triton_rvv.lowering.llvm.vp_memory import load_first
from triton_rvv.lowering.loops import index_loops, loop_versioning, materialise
from triton_rvv.lowering.memory.load_recipe import Load
from triton_rvv.lowering.memory.permute import swapped
from triton_rvv.lowering.products.dot_extents import DotExtents
from triton_rvv.lowering.products.matrix_panels import MatrixOperand, operand_room
from triton_rvv.lowering.products.matrix_rows import RowsFromAnyByte
from triton_rvv.lowering.products.pack import pack_part
from triton_rvv.targets.matrix_unit import MatrixUnit

__all__ = ["ColumnPanels", "ColumnSource", "column_panels", "with_columns"]

_FIELDS = 4  # of a segment store that takes no longer than the stores of its registers


class ColumnSource(Protocol):
    """Where B's columns come from."""

    def pack(self, context: Context, panels: ColumnPanels, area: Area) -> None:
        """Put an area of B into the panels."""
        ...


@dataclass(frozen=True)
class Area:
    """Some of B's columns, so many steps along K of them."""

    first: Val
    columns: Val
    depth: Val


@dataclass(frozen=True)
class ColumnPanels:
    """A few of B's columns in the unit's order, in panels of the columns of a tile.

    They stay in a cache near the core: all columns of B take the same room, some after others.

    Args:
        unit: whose operands they are.
        sources: B, cut along K, and how many elements along K each part has.
        plane: a position in a batch, or nothing.
        columns: how many there is room for; a multiple of `panel`, or fewer in a narrow block.
        panel: columns of a tile.
        packed: where they go.
    """

    unit: MatrixUnit
    sources: Sequence[tuple[ColumnSource, int]]
    plane: tuple[Val, ...]
    columns: int
    panel: int
    packed: MatrixOperand

    @property
    def width(self) -> int:
        """Columns that are put in order at once: a panel's, or those of a narrower block."""
        return min(self.panel, self.columns)

    def pack(self, context: Context, first: Val, count: Val, depth: Val) -> None:
        """Put so many columns from that one on in order, so many steps along K of them."""
        parts = self.packed.parts([depth for _, depth in self.sources])
        for (source, own), part in zip(self.sources, parts, strict=True):
            steps = depth if len(parts) == 1 else integer(own)
            source.pack(context, replace(self, packed=part), Area(first, count, steps))

    def store(self, builder: Builder, rows: Sequence[Val], k: Val, column: Val) -> None:
        """Put some columns of one panel in order, as many rows of them as an operand has."""
        start, within = builder.split(column, self.panel)
        to = self.packed.place(builder, self.packed.panel(builder, start), k, self.panel)
        to = builder.element_pointer("i8", to, builder.mul(within, integer(len(rows))))
        builder.store(_columns_of(builder, rows), to, len(rows))


def column_panels(
    context: Context,
    unit: MatrixUnit,
    sources: Sequence[tuple[ColumnSource, int]],
    columns: int,
    live: DotExtents,
    panel: int,
) -> ColumnPanels:
    """Room for as many of a block's columns as stay in the L1 cache, all of its depth."""
    depth = sum(own for _, own in sources)
    resident = context.target.machine.l1d_bytes // depth
    some = min(columns, max(panel, resident // panel * panel))
    packed = operand_room(context, depth * max(some, panel), depth, unit, live)
    return ColumnPanels(unit, sources, (), some, panel, packed)


def with_columns(
    context: Context,
    unit: MatrixUnit,
    rights: Sequence[Tensor],
    live: DotExtents,
    use: Callable[[Sequence[ColumnSource]], None],
) -> None:
    """Call `use` with B, cut along K: where it lies if its rows are read there in runs, and
    otherwise a copy of what counts."""
    builder = context.builder
    materialise.prepare(context, rights)

    def by_copies() -> None:
        around = [None for _ in rights[0].shape[:-2]]
        extents = [*around, live.depth, live.columns]
        with context.region():
            copies = [
                pack_part(context, right, extents, whole_rows=unit.turn_depth) for right in rights
            ]
            use([_Computed(copy) for copy in copies])

    def where_they_lie() -> None:
        with context.region():
            use([source for source, _ in found])

    ways = [_where_it_lies(context, unit, right, live) for right in rights]
    found = [way for way in ways if way is not None]
    if len(found) < len(ways):
        by_copies()
        return
    in_place = loop_versioning.all_of(context, [guard for _, each in found for guard in each])
    builder.branches(in_place, where_they_lie, by_copies, likely=True)


def _where_it_lies(
    context: Context, unit: MatrixUnit, right: Tensor, live: DotExtents
) -> tuple[ColumnSource, list[Val]] | None:
    """B without a copy, and the guards under which that is possible; None where it never is."""
    if isinstance(right, Buffer) or right.materialised is not None or right.uses > 1:
        return None
    if isinstance(right, Load) and len(right.shape) == 2:
        in_rows = right.guards_in_place(context.builder, [live.depth, live.columns])
        if all(guard.truth is not False for guard in in_rows):
            return _InRows(right, live.depth), in_rows
        if (columns := _in_columns(context, unit, right, live)) is not None:
            return columns
    return _Computed(right), right.plain_guards(context.builder)


@dataclass(frozen=True)
class _Computed:
    """B as something computes it, or as an array."""

    tensor: Tensor

    def pack(self, context: Context, panels: ColumnPanels, area: Area) -> None:
        builder, tensor, unit = context.builder, self.tensor, panels.unit
        version, width = PLAIN_VERSION, panels.width
        if isinstance(tensor, Buffer):
            version, width = ANY_VERSION, min(width, tensor.panel)
        for k in index_loops.steps(context, area.depth, unit.depth, unrolled=False):
            for column in index_loops.steps(context, area.columns, width, unrolled=False):
                at = builder.add(area.first, column)
                steps = [builder.add(k, integer(step)) for step in range(unit.depth)]
                points = [
                    VectorIndex((*panels.plane, step), at, width, version, rows_ahead=unit.depth)
                    for step in steps
                ]
                # Side by side, since an in-order core waits for each result that it needs at once;
                # so what a row asks for ahead is for the next rows.
                rows = builder.interleave([partial(tensor.at, builder, each) for each in points])
                panels.store(builder, rows, k, column)


@dataclass(frozen=True)
class _InRows:
    """B in memory, a row in one piece each.

    Args:
        load: that reads it.
        depth: how many rows there are; None for all of the block. A is 0 behind them.
    """

    load: Load
    depth: Val | None

    def pack(self, context: Context, panels: ColumnPanels, area: Area) -> None:
        builder = context.builder
        depth = self.depth or area.depth
        steps, _ = builder.split(depth, panels.unit.depth)
        whole, _ = builder.split(area.columns, panels.width)
        self._some(context, panels, area, (integer(0), steps), (integer(0), whole), depth)
        if whole.ref != area.columns.ref:
            right = (whole, area.columns)
            self._some(context, panels, area, (integer(0), steps), right, depth, is_cut=True)
        if steps.ref != depth.ref:
            below = (integer(0), area.columns)
            self._some(context, panels, area, (steps, depth), below, depth, is_cut=True)

    def _some(
        self,
        context: Context,
        panels: ColumnPanels,
        area: Area,
        steps: tuple[Val, Val],
        columns: tuple[Val, Val],
        depth: Val,
        is_cut: bool = False,
    ) -> None:
        """Some steps of some columns; where B's end may cut them, no more is read than there is.

        Where whole lines are read, those of the next rows are asked for.
        """
        builder, together = context.builder, panels.unit.depth
        start, stride = self.load.rows_in_place(builder, integer(0))
        stride = builder.resize(stride, "i64")
        if not is_cut:
            self._prefetch(context, steps[0], together, area)
        with builder.loop(*steps, integer(together)) as k:
            if not is_cut:
                self._prefetch(context, builder.add(k, integer(together)), together, area)
            with builder.loop(*columns, integer(panels.width)) as column:
                at = builder.add(builder.mul(k, stride), builder.add(area.first, column))
                row = builder.element_pointer("i8", start, at)
                left = builder.binary("sub", area.columns, column)
                rows = []
                for step in range(together):
                    count = None
                    if is_cut:
                        is_there = builder.compare("slt", builder.add(k, integer(step)), depth)
                        count = builder.select(is_there, left, integer(0))
                    rows.append(_row_of_bytes(builder, row, panels.width, count))
                    row = builder.element_pointer("i8", row, stride)
                panels.store(builder, rows, k, column)

    def _prefetch(self, context: Context, row: Val, rows: int, area: Area) -> None:
        """Ask for so many rows' lines; the last one begins anywhere."""
        builder, line = context.builder, context.target.machine.line_bytes
        start, stride = self.load.rows_in_place(builder, row)
        start = builder.element_pointer("i8", start, area.first)
        stride = builder.resize(stride, "i64")

        def ask(column: Val) -> None:
            address = builder.element_pointer("i8", start, column)
            for _ in range(rows):
                builder.prefetch(address)
                address = builder.element_pointer("i8", address, stride)

        with builder.loop(integer(0), area.columns, integer(line)) as column:
            ask(column)
        ask(builder.add(area.columns, integer(-1)))


def _in_columns(
    context: Context, unit: MatrixUnit, right: Load, live: DotExtents
) -> tuple[_InColumns, list[Val]] | None:
    """B with each column in one piece, and the guards under which it is; None for others."""
    transpose, depth = swapped(right), right.shape[-2]
    # A column of one word is no vector.
    if not isinstance(transpose, Load) or depth == unit.depth:
        return None
    guards = transpose.guards_in_place(context.builder, [live.columns, live.depth])
    if any(guard.truth is False for guard in guards):
        return None
    return _InColumns(RowsFromAnyByte(context, unit, transpose, depth, live)), guards


@dataclass(frozen=True)
class _InColumns:
    """B in memory, a column in one piece each.

    Args:
        columns: the rows of its transpose.
    """

    columns: RowsFromAnyByte

    def pack(self, context: Context, panels: ColumnPanels, area: Area) -> None:
        builder, depth = context.builder, panels.unit.depth
        with builder.loop(integer(0), area.columns, integer(panels.panel)) as begin:
            to = panels.packed.panel(builder, begin)
            to = panels.packed.place(builder, to, integer(0), panels.panel)
            end = builder.smin(area.columns, builder.add(begin, integer(panels.panel)))
            with builder.loop(begin, end, integer(1)) as column:
                within = builder.mul(builder.binary("sub", column, begin), integer(depth))
                place = builder.element_pointer("i8", to, within)
                self.columns.pack(builder.add(area.first, column), place, panels.panel)


def _row_of_bytes(builder: Builder, address: Val, width: int, count: Val | None) -> Val:
    """Neighbours in memory: all of them, or so many at most, and zeros behind them."""
    type_ = vector_type("i8", width)
    if count is None:
        return builder.load(type_, address, 1)
    zeros = Val(type_, "zeroinitializer")
    return load_first(builder, address, builder.smin(count, integer(width)), zeros, 1, True)


def _columns_of(builder: Builder, rows: Sequence[Val]) -> Val:
    """The columns of a few rows of bytes, one behind the other.

    The last shuffle of four vectors and the store of it become one instruction.
    """
    parts = list(rows)
    while len(parts) > _FIELDS:
        parts = _joined(builder, parts[::2], parts[1::2])
    return in_turn(builder, parts)


def _joined(builder: Builder, lower: Sequence[Val], upper: Sequence[Val]) -> list[Val]:
    """Integers of twice the bits, each of two others.

    `lower + upper + (2 ** bits - 1) * upper` takes two instructions that widen. All of the first
    come before those that wait for them. LLVM would add up the factors of `upper`, so it does not
    know the number.
    """
    bits, width = int(lower[0].element[1:]), lower[0].width
    factor = builder.of_unknown_origin(integer((1 << bits) - 1, f"i{bits}"))

    def widened(value: Val) -> Val:
        return builder.cast("zext", value, f"i{2 * bits}")

    sums = [builder.add(widened(a), widened(b)) for a, b in zip(lower, upper, strict=True)]
    factors = builder.splat(factor, width)
    return [
        builder.add(each, builder.mul(widened(b), widened(factors)))
        for each, b in zip(sums, upper, strict=True)
    ]
