"""Operands of a matrix unit in the order in which its tiles read them.

An operand of the instruction is a register: a few rows of A, or a few columns of B, with some steps
along K of each. A tile reads, for each of these steps, the operands of its columns one after
another, those of its first two groups of rows, and that of the third apart (see
`triton_rvv.codegen.matrix_tile`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer, vector_type
from triton_rvv.lowering.llvm.vp_memory import load_first, store_first_by_stride
from triton_rvv.lowering.loops import index_loops, loop_versioning, materialise
from triton_rvv.lowering.memory.in_lines import in_lines
from triton_rvv.lowering.memory.load_recipe import Load
from triton_rvv.lowering.products.dot_extents import DotExtents
from triton_rvv.lowering.products.pack import pack_part
from triton_rvv.targets.matrix_unit import OPERANDS_AHEAD, MatrixUnit

__all__ = [
    "MatrixOperand",
    "OperandRows",
    "RowStrips",
    "RowTiles",
    "columns_together",
    "operand_room",
    "packed_rows",
    "row_strips",
    "row_tiles",
    "strip_guards",
]

# Rows from one that is read to one that is asked for.
_ROWS_AHEAD = 4


class OperandRows:
    """Puts rows of an operand into panels.

    Args:
        source: A, or the transpose of B: an array, or where it lies in memory.
        plane: a position in a batch, or nothing.
    """

    def __init__(
        self,
        context: Context,
        unit: MatrixUnit,
        source: Buffer | Load,
        plane: tuple[Val, ...],
        live: DotExtents,
    ) -> None:
        self._builder, self._unit, self._source = context.builder, unit, source
        self._plane = plane
        depth = integer(source.shape[-1])
        padded = live.padded_depth(context.builder, unit.turn_depth)
        self._depth, self._padded = live.depth or depth, padded or depth
        # In an array, a row of a panel is one piece.
        line = min(source.shape[-1], context.target.machine.line_bytes)
        self._run = source.panel if isinstance(source, Buffer) else line

    def pack(self, first: Val, end: Val, to: Val, lines: int) -> None:
        """Put some rows into a panel of so many, where the first one's first word goes `to`."""
        builder = self._builder
        with builder.loop(first, end, integer(1)) as row:
            within = builder.mul(builder.binary("sub", row, first), integer(self._unit.depth))
            self._row(row, builder.element_pointer("i8", to, within), lines)

    def _row(self, row: Val, to: Val, lines: int) -> None:
        builder, run, depth = self._builder, integer(self._run), self._depth
        type_, start = vector_type("i8", self._run), self._start(row)
        whole, left = builder.split(depth, self._run)
        with builder.loop(integer(0), whole, run) as k:
            self._store(builder.load(type_, self._at(start, k), 1), to, k, lines, run)
        if whole.ref == depth.ref:
            return
        with builder.loop(whole, depth, run) as k:
            zeros = Val(type_, "zeroinitializer")
            words = load_first(builder, self._at(start, k), left, zeros, 1, is_seen=True)
            self._store(words, to, k, lines, builder.binary("sub", self._padded, k))

    def _start(self, row: Val) -> Val:
        if isinstance(self._source, Buffer):
            return self._source.address(self._builder, (*self._plane, row, integer(0)))
        return self._source.rows_in_place(self._builder, row)[0]

    def _at(self, start: Val, k: Val) -> Val:
        """Where the elements of a row are from `k` on; in memory, a later row's are asked for."""
        builder, source = self._builder, self._source
        if isinstance(source, Buffer):
            rows = integer(source.panel_elements // source.panel)
            return builder.element_pointer("i8", start, builder.mul(k, rows))
        address, (_, stride) = (
            builder.element_pointer("i8", start, k),
            source.rows_in_place(builder, integer(0)),
        )
        ahead = builder.mul(builder.resize(stride, "i64"), integer(_ROWS_AHEAD))
        builder.prefetch(builder.element_pointer("i8", address, ahead))
        return address

    def _store(self, run: Val, to: Val, k: Val, lines: int, end: Val) -> None:
        """Put the words of a run, of so many bytes, into a panel."""
        builder, depth = self._builder, self._unit.depth
        words = builder.reinterpret(run, vector_type(f"i{8 * depth}", self._run // depth))
        place = builder.element_pointer("i8", to, builder.mul(k, integer(lines)))
        if words.width == 1:
            builder.store(words, place, depth)
            return
        count = builder.shift_right(end, depth.bit_length() - 1)
        store_first_by_stride(builder, words, place, integer(lines * depth), count, depth)


@dataclass(frozen=True)
class MatrixOperand:
    """All of A or of B, in the unit's order.

    Args:
        pointer: where it begins.
        depth: its steps along K, in elements, at most.
        stride: those that count, as whole turns of a tile's loop. Behind a panel lies the next one,
            so that what is asked for ahead is of use.
        skipped: elements along K of each row, or column, in front of this part of the operand.
    """

    pointer: Val
    depth: int
    stride: Val
    skipped: int = 0

    def panel(self, builder: Builder, first: Val) -> Val:
        """Where the row of A, or the column of B, with that number begins that begins a panel."""
        return builder.element_pointer("i8", self.pointer, builder.mul(first, self.stride))

    def place(self, builder: Builder, panel: Val, k: Val, lines: int) -> Val:
        """Where a panel of so many rows or columns has the elements at `k`."""
        within = builder.mul(builder.add(k, integer(self.skipped)), integer(lines))
        return builder.element_pointer("i8", panel, within)

    def parts(self, depths: Sequence[int]) -> list[MatrixOperand]:
        """The operand cut along K, into parts of so many elements each."""
        starts = itertools.accumulate(depths, initial=self.skipped)
        return [
            replace(self, depth=depth, skipped=skipped)
            for skipped, depth in zip(starts, depths, strict=False)
        ]

    def plane(self, builder: Builder, position: Val, lines: int) -> MatrixOperand:
        """That of one position in a batch, of so many rows or columns each."""
        first = builder.mul(position, integer(lines))
        return replace(self, pointer=self.panel(builder, first))


@dataclass(frozen=True)
class RowTiles:
    """Tiles of one height, one below the other.

    Args:
        first, end: the first row, and the first one below them all.
        operands: of A in each of them.
    """

    first: int
    end: int
    operands: int

    def last(self, builder: Builder, live: DotExtents) -> Val:
        """The first row below those of them that count."""
        end = integer(self.end)
        return end if live.rows is None else builder.smin(end, live.rows)


def row_tiles(unit: MatrixUnit, rows: int) -> list[RowTiles]:
    """Tiles that cover all rows: as high as fit, and two of middle height in place of a low one."""
    operands, most = rows // unit.side, unit.tile[0]
    whole, rest = divmod(operands, most)
    if rest == 1 and whole and most > 2:
        whole, rest = whole - 1, most + 1
    split = whole * most * unit.side
    tiles = [RowTiles(0, split, most)] if whole else []
    height = rest // 2 if rest > most else rest
    return [*tiles, RowTiles(split, rows, height)] if rest else tiles


def packed_rows(
    context: Context, unit: MatrixUnit, lefts: Sequence[Tensor], live: DotExtents
) -> MatrixOperand:
    """A, whose rows are a multiple of those of an operand, as far as it counts.

    Args:
        lefts: A, cut along K.
    """
    materialise.prepare(context, lefts)
    depths = [left.shape[-1] for left in lefts]
    elements = sum(left.type.elements for left in lefts)
    packed = operand_room(context, elements, sum(depths), unit, live)
    for left, part in zip(lefts, packed.parts(depths), strict=True):
        _pack_rows(context, unit, left, part, live)
    return packed


def _pack_rows(
    context: Context, unit: MatrixUnit, left: Tensor, packed: MatrixOperand, live: DotExtents
) -> None:
    """Put A, or a part of it along K, in order."""
    builder = context.builder
    *batch, rows, _ = left.shape

    def pack(source: Buffer | Load) -> None:
        for plane in index_loops.positions(context, batch, unrolled=False):
            operand = packed.plane(builder, plane[0], rows) if plane else packed
            words = OperandRows(context, unit, source, plane, live)
            for tiles in row_tiles(unit, rows):
                _pack_tiles(builder, unit, words, operand, tiles, live)

    def by_a_copy() -> None:
        extents = [*[None for _ in batch], live.rows, live.depth]
        with context.region():
            pack(pack_part(context, left, extents, whole_columns=unit.turn_depth))

    if not _may_lie(left):
        by_a_copy()
        return

    lines = in_lines(builder, left)

    def where_it_lies() -> None:
        with context.region():
            pack(lines)

    guards = lines.guards_in_place(builder, [live.rows, live.depth])
    in_place = loop_versioning.all_of(context, guards)
    builder.branches(in_place, where_it_lies, by_a_copy, likely=True)


def _pack_tiles(
    builder: Builder, unit: MatrixUnit, words: OperandRows, packed: MatrixOperand, tiles: RowTiles,
    live: DotExtents,
) -> None:  # fmt: skip
    """The operands of some tiles."""
    end = tiles.last(builder, live)
    with builder.loop(integer(tiles.first), end, integer(tiles.operands * unit.side)) as top:
        _pack_strip(builder, unit, words, packed, tiles, (top, end), top)


def _pack_strip(
    builder: Builder, unit: MatrixUnit, words: OperandRows, packed: MatrixOperand, tiles: RowTiles,
    rows: tuple[Val, Val], at: Val,
) -> None:  # fmt: skip
    """The operands of the tiles that begin with the first of the rows, `at` a row of the panels."""
    height, pairs = tiles.operands * unit.side, min(tiles.operands, 2) * unit.side
    for first, below in [(0, pairs), (pairs, height)] if pairs < height else [(0, pairs)]:
        begin, last = (builder.add(rows[0], integer(row)) for row in (first, below))
        panel = packed.panel(builder, builder.add(at, integer(first)))
        to = packed.place(builder, panel, integer(0), below - first)
        words.pack(begin, builder.smin(rows[1], last), to, below - first)


@dataclass(frozen=True)
class RowStrips:
    """A where it lies, of which the rows of a tile are put in order right before they are used.

    All of A in order would go through the caches twice, for each program that does so: where each
    row is used once, its operands need not leave the nearest one.

    Args:
        packed: room for the rows of one tile.
    """

    unit: MatrixUnit
    words: OperandRows
    packed: MatrixOperand
    live: DotExtents

    def pack(self, builder: Builder, tiles: RowTiles, top: Val) -> None:
        """Put the rows of the tiles that begin there in order."""
        rows = top, tiles.last(builder, self.live)
        _pack_strip(builder, self.unit, self.words, self.packed, tiles, rows, integer(0))


def columns_together(context: Context, depth: int, columns: int, panel: int) -> int:
    """How many columns of a block stay in the L1 cache with all of their depth, in whole panels."""
    resident = context.target.machine.l1d_bytes // depth
    return min(columns, max(panel, resident // panel * panel))


def strip_guards(
    context: Context, lefts: Sequence[Tensor], live: DotExtents, columns: int, panel: int
) -> list[Val] | None:
    """Under which a row of tiles of A at a time can be put in order; None where that never can, or
    is of no use: where each row is needed again, or both operands stay in the L1 cache.

    Args:
        lefts: A, cut along K.
        columns: of B.
        panel: those of a tile.
    """
    depth, rows = sum(left.shape[-1] for left in lefts), lefts[0].shape[-2]
    is_needed_again = columns_together(context, depth, columns, panel) < columns
    if is_needed_again or depth * (rows + columns) < context.target.machine.l1d_bytes:
        return None
    materialise.prepare(context, lefts)
    if len(lefts) > 1 or not _may_lie(lefts[0]):
        return None
    lines = in_lines(context.builder, lefts[0])
    guards = lines.guards_in_place(context.builder, [live.rows, live.depth])
    return None if any(guard.truth is False for guard in guards) else guards


def row_strips(context: Context, unit: MatrixUnit, left: Tensor, live: DotExtents) -> RowStrips:
    """A a row of tiles at a time, where the guards hold."""
    assert isinstance(left, Load)
    depth = left.shape[-1]
    room = operand_room(context, unit.tile[0] * unit.side * depth, depth, unit, live)
    words = OperandRows(context, unit, in_lines(context.builder, left), (), live)
    return RowStrips(unit, words, room, live)


def _may_lie(left: Tensor) -> TypeGuard[Load]:
    """Whether it is a matrix in memory that nothing else needs."""
    is_alone = isinstance(left, Load) and left.materialised is None and left.uses <= 1
    return is_alone and len(left.shape) == 2


def operand_room(
    context: Context, elements: int, depth: int, unit: MatrixUnit, live: DotExtents
) -> MatrixOperand:
    """An array for an operand, and for what loads ahead of the last step read."""
    line = TensorType((elements + OPERANDS_AHEAD * unit.register_bytes,), ScalarType("i8"))
    stride = live.padded_depth(context.builder, unit.turn_depth)
    pointer = context.buffer(line).pointer
    return MatrixOperand(pointer, depth, integer(depth) if stride is None else stride)
