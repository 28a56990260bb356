"""B's columns in the order in which a matrix unit's tiles read them, a few of them at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.llvm.vectors import in_turn
from triton_rvv.lowering.products.dot_extents import DotExtents
from triton_rvv.lowering.products.matrix_panels import MatrixOperand, columns_together, operand_room
from triton_rvv.targets.matrix_unit import MatrixUnit

__all__ = ["Area", "ColumnPanels", "ColumnSource", "column_panels"]

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

    def store(
        self,
        builder: Builder,
        rows: Sequence[Val],
        k: Val,
        column: Val,
        before: Callable[[], None] = lambda: None,
    ) -> None:
        """Put some columns of one panel in order, as many rows of them as an operand has.

        `before` writes code that goes between the arithmetic and the store.
        """
        start, within = builder.split(column, self.panel)
        to = self.packed.place(builder, self.packed.panel(builder, start), k, self.panel)
        to = builder.element_pointer("i8", to, builder.mul(within, integer(len(rows))))
        parts = _joined_rows(builder, rows)
        before()
        builder.store(in_turn(builder, parts), to, len(rows))


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
    some = columns_together(context, depth, columns, panel)
    packed = operand_room(context, depth * max(some, panel), depth, unit, live)
    return ColumnPanels(unit, sources, (), some, panel, packed)


def _joined_rows(builder: Builder, rows: Sequence[Val]) -> list[Val]:
    """A few rows of bytes as vectors whose elements, in turn, are the columns.

    The shuffle of four vectors and the store of it become one instruction.
    """
    parts = list(rows)
    while len(parts) > _FIELDS:
        parts = _joined(builder, parts[::2], parts[1::2])
    return parts


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
