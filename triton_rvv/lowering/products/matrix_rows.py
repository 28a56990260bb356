"""Rows of A in the order in which a matrix unit's tiles read them, wherever they begin.

An operand's rows are words of eight bytes. Each row is loaded by bytes, a cache line at a time, and
its words go to their places in the panel one by one: that takes no longer than to load words by
stride, which rows of a matrix with an odd number of columns do not allow.

Columns of B in one piece are rows of its transpose.
"""

from __future__ import annotations

from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.llvm.values import Val, integer, vector_type
from triton_rvv.lowering.llvm.vp_memory import load_first, store_first_by_stride
from triton_rvv.lowering.memory.load_recipe import Load
from triton_rvv.lowering.products.dot_extents import DotExtents
from triton_rvv.targets.matrix_unit import MatrixUnit

__all__ = ["OperandRows"]

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
