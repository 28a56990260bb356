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

from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.llvm.vp_memory import load_first_by_stride
from triton_rvv.lowering.loops import index_loops, loop_versioning, materialise
from triton_rvv.lowering.memory.load_recipe import Load
from triton_rvv.lowering.products.dot_extents import DotExtents
from triton_rvv.lowering.products.matrix_rows import RowsFromAnyByte
from triton_rvv.lowering.products.pack import pack_part
from triton_rvv.targets.matrix_unit import OPERANDS_AHEAD, MatrixUnit

__all__ = ["MatrixOperand", "RowTiles", "operand_room", "packed_rows", "row_tiles"]


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
    *batch, rows, depth = left.shape

    def pack(source: Buffer | Load) -> None:
        for plane in index_loops.positions(context, batch, unrolled=False):
            operand = packed
            if plane:
                operand = packed.plane(builder, plane[0], rows)
            for tiles in row_tiles(unit, rows):
                _pack_tiles(context, unit, _Rows(builder, source, plane), operand, tiles, live)

    def by_a_copy() -> None:
        extents = [*[None for _ in batch], live.rows, live.depth]
        with context.region():
            pack(pack_part(context, left, extents, whole_columns=unit.turn_depth))

    if not isinstance(left, Load) or left.materialised is not None or left.uses > 1 or batch:
        by_a_copy()
        return

    def where_it_lies() -> None:
        with context.region():
            pack(left)

    def from_any_byte() -> None:
        with context.region():
            unaligned = RowsFromAnyByte(context, unit, left, depth, live)
            for tiles in row_tiles(unit, rows):
                _pack_unaligned(builder, unit, unaligned, packed, tiles, live)

    def by_rows() -> None:
        is_aligned = loop_versioning.all_of(context, aligned)
        # A row of one word is no vector.
        otherwise = by_a_copy if depth == unit.depth else from_any_byte
        builder.branches(is_aligned, where_it_lies, otherwise, likely=True)

    guards = left.guards_in_place(builder, [live.rows, live.depth])
    aligned = _rows_of_whole_operands(builder, unit, left, live)
    in_place = loop_versioning.all_of(context, guards)
    builder.branches(in_place, by_rows, by_a_copy, likely=True)


def _rows_of_whole_operands(
    builder: Builder, unit: MatrixUnit, left: Load, live: DotExtents
) -> list[Val]:
    """Truth values under which rows in memory begin and end where operands of the unit do."""
    start, stride = left.rows_in_place(builder, integer(0))
    start, stride = builder.cast("ptrtoint", start, "i64"), builder.resize(stride, "i64")
    _, rest = builder.split(builder.binary("or", start, stride), unit.depth)
    aligned = [builder.compare("eq", rest, integer(0))]
    if live.depth is not None:
        _, rest = builder.split(live.depth, unit.turn_depth)
        aligned.append(builder.compare("eq", rest, integer(0)))
    return aligned


@dataclass(frozen=True)
class _Rows:
    """Where rows of A lie: in an array, or in the program's memory."""

    builder: Builder
    source: Buffer | Load
    plane: tuple[Val, ...]

    def prefetch(self, row: Val, k: Val, count: int) -> None:
        """Ask for the lines of so many rows."""
        if isinstance(self.source, Load):
            start, stride = self.source.rows_in_place(self.builder, row)
            address = self.builder.element_pointer("i8", start, k)
            for _ in range(count):
                self.builder.prefetch(address)
                address = self.builder.element_pointer("i8", address, stride)

    def words(self, row: Val, k: Val, count: int, depth: int, end: Val | None) -> Val:
        """So many rows' elements from `k` on, `depth` of each, as 64-bit integers.

        Rows from `end` on are not read, and hold anything.
        """
        builder, there = self.builder, integer(count)
        if end is not None:
            there = index_loops.left_over(builder, row, end, count)
        if isinstance(self.source, Load):
            start, stride = self.source.rows_in_place(builder, row)
            address = builder.element_pointer("i8", start, k)
            distance = builder.resize(stride, "i64")
        else:
            address = self.source.address(builder, (*self.plane, row, k))
            distance = integer(self.source.panel)
        type_ = f"<{count} x i{8 * depth}>"
        return load_first_by_stride(builder, type_, address, distance, there, depth)


def _pack_tiles(
    context: Context, unit: MatrixUnit, rows: _Rows, packed: MatrixOperand, tiles: RowTiles,
    live: DotExtents,
) -> None:  # fmt: skip
    """The operands of some tiles."""
    builder, height, depth = context.builder, tiles.operands * unit.side, packed.depth
    pairs = min(tiles.operands, 2) * unit.side
    # Where rows end somewhere, nothing is read behind a turn of a tile's loop.
    line = min(depth, unit.turn_depth if live.depth else context.target.machine.line_bytes)
    for begin in index_loops.steps(context, live.depth or depth, line, unrolled=False):
        rows.prefetch(integer(tiles.first), begin, height)

    def pack(first: Val, end: Val, cut: Val | None) -> None:
        with builder.loop(first, end, integer(height)) as row:
            panel = packed.panel(builder, row)
            below = builder.add(row, integer(pairs))
            third = packed.panel(builder, below)
            for begin in index_loops.steps(context, live.depth or depth, line, unrolled=False):
                rows.prefetch(builder.add(row, integer(height)), begin, height)
                for offset in range(0, line, unit.depth):
                    k = builder.add(begin, integer(offset))
                    words = rows.words(row, k, pairs, unit.depth, cut)
                    builder.store(words, packed.place(builder, panel, k, pairs), unit.depth)
                    if height > pairs:
                        words = rows.words(below, k, unit.side, unit.depth, cut)
                        to = packed.place(builder, third, k, unit.side)
                        builder.store(words, to, unit.depth)

    first, end = integer(tiles.first), tiles.last(builder, live)
    whole = end
    if live.rows is not None and isinstance(rows.source, Load):
        count = builder.smax(builder.binary("sub", end, first), integer(0))
        whole = builder.binary("sub", end, builder.binary("urem", count, integer(height)))
    pack(first, whole, None)
    if whole is not end:
        pack(whole, end, end)


def _pack_unaligned(
    builder: Builder, unit: MatrixUnit, rows: RowsFromAnyByte, packed: MatrixOperand,
    tiles: RowTiles, live: DotExtents,
) -> None:  # fmt: skip
    """The operands of some tiles, row by row."""
    height, pairs = tiles.operands * unit.side, min(tiles.operands, 2) * unit.side
    end = tiles.last(builder, live)
    with builder.loop(integer(tiles.first), end, integer(height)) as top:
        for first, below in ((0, pairs), (pairs, height)):
            if first == below:
                continue
            begin = builder.add(top, integer(first))
            last = builder.smin(end, builder.add(top, integer(below)))
            panel = packed.panel(builder, begin)
            panel = packed.place(builder, panel, integer(0), below - first)
            with builder.loop(begin, last, integer(1)) as row:
                within = builder.mul(builder.binary("sub", row, begin), integer(unit.depth))
                to = builder.element_pointer("i8", panel, within)
                rows.pack(row, to, below - first)


def operand_room(
    context: Context, elements: int, depth: int, unit: MatrixUnit, live: DotExtents
) -> MatrixOperand:
    """An array for an operand, and for what loads ahead of the last step read."""
    line = TensorType((elements + OPERANDS_AHEAD * unit.register_bytes,), ScalarType("i8"))
    stride = live.padded_depth(context.builder, unit.turn_depth)
    pointer = context.buffer(line).pointer
    return MatrixOperand(pointer, depth, integer(depth) if stride is None else stride)
