"""Rows of A that begin at any byte, in the order in which a matrix unit's tiles read them.

An operand's rows are words of eight bytes. Rows of a matrix with an odd number of columns begin at
no multiple of eight, where words cannot be loaded: each row is loaded by bytes, a cache line at a
time, and its words go to their places in the panel one by one.

Columns of B are rows of its transpose, and take this way wherever they begin: words of 16 columns,
loaded by stride, take longer.
"""

from __future__ import annotations

from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.llvm.values import Val, integer, vector_type
from triton_rvv.lowering.llvm.vp_memory import load_first, store_first_by_stride
from triton_rvv.lowering.memory.load_recipe import Load
from triton_rvv.lowering.products.dot_extents import DotExtents
from triton_rvv.targets.matrix_unit import MatrixUnit

__all__ = ["RowsFromAnyByte"]

# Rows from one that is read to one that is asked for.
_ROWS_AHEAD = 4


class RowsFromAnyByte:
    """Puts rows of an operand into panels.

    Args:
        source: A, or the transpose of B.
    """

    def __init__(
        self, context: Context, unit: MatrixUnit, source: Load, depth: int, live: DotExtents
    ) -> None:
        self._builder, self._unit, self._source = context.builder, unit, source
        self._depth = integer(depth) if live.depth is None else live.depth
        padded = live.padded_depth(context.builder, unit.turn_depth)
        self._padded = integer(depth) if padded is None else padded
        self._run = min(depth, context.target.machine.line_bytes)

    def pack(self, row: Val, to: Val, rows: int) -> None:
        """Put a row into a panel of so many, where its first word goes `to`."""
        builder = self._builder
        start, stride = self._source.rows_in_place(builder, row)
        stride_bytes = builder.resize(stride, "i64")
        ahead = builder.element_pointer(
            "i8", start, builder.mul(stride_bytes, integer(_ROWS_AHEAD))
        )
        whole, _ = builder.split(self._depth, self._run)
        type_ = vector_type("i8", self._run)
        with builder.loop(integer(0), whole, integer(self._run)) as k:
            builder.prefetch(builder.element_pointer("i8", ahead, k))
            run = builder.load(type_, builder.element_pointer("i8", start, k), 1)
            self._store(run, to, k, rows, integer(self._run))
        if whole.ref == self._depth.ref:
            return
        with builder.loop(whole, self._depth, integer(self._run)) as k:
            builder.prefetch(builder.element_pointer("i8", ahead, k))
            count = builder.binary("sub", self._depth, k)
            zeros = Val(type_, "zeroinitializer")
            address = builder.element_pointer("i8", start, k)
            run = load_first(builder, address, count, zeros, 1, is_seen=True)
            self._store(run, to, k, rows, builder.binary("sub", self._padded, k))

    def _store(self, run: Val, to: Val, k: Val, rows: int, end: Val) -> None:
        """Put the words of a run, of so many bytes, into a panel."""
        builder, depth = self._builder, self._unit.depth
        type_ = vector_type(f"i{8 * depth}", self._run // depth)
        words = builder.reinterpret(run, type_)
        place = builder.element_pointer("i8", to, builder.mul(k, integer(rows)))
        count = builder.shift_right(end, depth.bit_length() - 1)
        store_first_by_stride(builder, words, place, integer(rows * depth), count, depth)
