"""Where B for a matrix unit comes from: its memory, by rows or by columns, or what computes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import ANY_VERSION, PLAIN_VERSION, VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer, vector_type
from triton_rvv.lowering.llvm.variable import Variable
from triton_rvv.lowering.llvm.vp_memory import load_first
from triton_rvv.lowering.loops import index_loops, loop_versioning, materialise
from triton_rvv.lowering.memory.in_lines import in_lines
from triton_rvv.lowering.memory.load_recipe import Load
from triton_rvv.lowering.memory.permute import swapped
from triton_rvv.lowering.products.dot_extents import DotExtents
from triton_rvv.lowering.products.matrix_column_panels import Area, ColumnPanels, ColumnSource
from triton_rvv.lowering.products.matrix_panels import OperandRows
from triton_rvv.lowering.products.pack import pack_part
from triton_rvv.targets.matrix_unit import MatrixUnit

__all__ = ["with_columns"]

T = TypeVar("T")


def with_columns(
    context: Context,
    unit: MatrixUnit,
    rights: Sequence[Tensor],
    live: DotExtents,
    others: Sequence[Val],
    left: Callable[[bool], T],
    use: Callable[[T, Sequence[ColumnSource]], None],
) -> None:
    """Call `use` with B, cut along K: where it lies if its rows are read there in runs and the
    other guards hold, and otherwise a copy of what counts. `left` makes A ahead, and is told which
    of both it is.
    """
    builder = context.builder
    materialise.prepare(context, rights)

    def by_copies() -> None:
        around = [None for _ in rights[0].shape[:-2]]
        extents = [*around, live.depth, live.columns]
        with context.region():
            a = left(False)
            copies = [
                pack_part(context, right, extents, whole_rows=unit.turn_depth) for right in rights
            ]
            use(a, [_Computed(copy) for copy in copies])

    def where_they_lie() -> None:
        with context.region():
            use(left(True), [source for source, _ in found])

    ways = [_where_it_lies(context, unit, right, live) for right in rights]
    found = [way for way in ways if way is not None]
    if len(found) < len(ways):
        by_copies()
        return
    guards = [*others, *(guard for _, each in found for guard in each)]
    in_place = loop_versioning.all_of(context, guards)
    builder.branches(in_place, where_they_lie, by_copies, likely=True)


def _where_it_lies(
    context: Context, unit: MatrixUnit, right: Tensor, live: DotExtents
) -> tuple[ColumnSource, list[Val]] | None:
    """B without a copy, and the guards under which that is possible; None where it never is."""
    if isinstance(right, Buffer) or right.materialised is not None or right.uses > 1:
        return None
    if isinstance(right, Load) and len(right.shape) == 2:
        lines = in_lines(context.builder, right)
        in_rows = lines.guards_in_place(context.builder, [live.depth, live.columns])
        if all(guard.truth is not False for guard in in_rows):
            return _InRows(lines, live.depth), in_rows
        if (columns := _in_columns(context, unit, lines, live)) is not None:
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
        depth: how many rows there are; None for all of the block. A is 0 behind them.
    """

    load: Load
    depth: Val | None

    def pack(self, context: Context, panels: ColumnPanels, area: Area) -> None:
        builder, together = context.builder, panels.unit.depth
        depth = self.depth or area.depth
        steps, _ = builder.split(depth, together)
        whole, _ = builder.split(area.columns, panels.width)
        self._prefetch(context, integer(0), together, area)
        with builder.loop(integer(0), steps, integer(together)) as k:
            self._prefetch(context, builder.add(k, integer(together)), together, area)
            some = builder.compare("slt", integer(0), whole)
            builder.branches(some, lambda: self._whole_columns(builder, panels, area, k, whole))
            if whole.ref != area.columns.ref:  # while the lines of these rows are near
                self._cut_columns(builder, panels, area, k, whole, depth)
        if steps.ref != depth.ref:
            with builder.loop(steps, depth, integer(together)) as k:
                self._cut_columns(builder, panels, area, k, integer(0), depth)

    def _whole_columns(
        self, builder: Builder, panels: ColumnPanels, area: Area, k: Val, end: Val
    ) -> None:
        """A step of the columns of whole panels, at least one.

        The rows of the next panel are loaded between the arithmetic for one and its store, which
        waits for the arithmetic; the arithmetic would wait for its own loads.
        """
        width = integer(panels.width)
        last = builder.binary("sub", end, width)
        start, stride = self._step(builder, k, area.first)

        def rows(column: Val) -> list[Val]:
            loaded, row = list[Val](), builder.element_pointer("i8", start, column)
            for _ in range(panels.unit.depth):
                # An in-order core would wait for an address that is computed right before.
                following = builder.element_pointer("i8", row, stride)
                loaded.append(_row_of_bytes(builder, row, panels.width, None))
                row = following
            return loaded

        ahead = [Variable(builder, row) for row in rows(integer(0))]

        def load_ahead() -> None:
            following = builder.smin(builder.add(column, width), last)
            for row, value in zip(ahead, rows(following), strict=True):
                row.write(value)

        with builder.loop(integer(0), end, width) as column:
            panels.store(builder, [row.read() for row in ahead], k, column, load_ahead)

    def _cut_columns(
        self, builder: Builder, panels: ColumnPanels, area: Area, k: Val, first: Val, depth: Val
    ) -> None:
        """A step of the columns from that one on: no more is read than there is."""
        with builder.loop(first, area.columns, integer(panels.width)) as column:
            left = builder.binary("sub", area.columns, column)
            rows = []
            row, stride = self._step(builder, k, builder.add(area.first, column))
            for step in range(panels.unit.depth):
                is_there = builder.compare("slt", builder.add(k, integer(step)), depth)
                count = builder.select(is_there, left, integer(0))
                rows.append(_row_of_bytes(builder, row, panels.width, count))
                row = builder.element_pointer("i8", row, stride)
            panels.store(builder, rows, k, column)

    def _step(self, builder: Builder, k: Val, column: Val) -> tuple[Val, Val]:
        """Where a column begins in the first row of a step along K, and the bytes to the next."""
        start, stride = self.load.rows_in_place(builder, integer(0))
        stride = builder.resize(stride, "i64")
        at = builder.add(builder.mul(k, stride), column)
        return builder.element_pointer("i8", start, at), stride

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
    transpose = swapped(right)
    if not isinstance(transpose, Load):
        return None
    guards = transpose.guards_in_place(context.builder, [live.columns, live.depth])
    if any(guard.truth is False for guard in guards):
        return None
    return _InColumns(OperandRows(context, unit, transpose, (), live)), guards


@dataclass(frozen=True)
class _InColumns:
    """B in memory, a column in one piece each.

    Args:
        columns: the rows of its transpose.
    """

    columns: OperandRows

    def pack(self, context: Context, panels: ColumnPanels, area: Area) -> None:
        builder = context.builder
        with builder.loop(integer(0), area.columns, integer(panels.panel)) as begin:
            to = panels.packed.panel(builder, begin)
            to = panels.packed.place(builder, to, integer(0), panels.panel)
            end = builder.smin(area.columns, builder.add(begin, integer(panels.panel)))
            first, last = (builder.add(area.first, each) for each in (begin, end))
            self.columns.pack(first, last, to, panels.panel)


def _row_of_bytes(builder: Builder, address: Val, width: int, count: Val | None) -> Val:
    """Neighbours in memory: all of them, or so many at most, and zeros behind them."""
    type_ = vector_type("i8", width)
    if count is None:
        return builder.load(type_, address, 1)
    zeros = Val(type_, "zeroinitializer")
    return load_first(builder, address, builder.smin(count, integer(width)), zeros, 1, True)
