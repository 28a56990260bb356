"""Where tiles of a matrix unit's product go: to an array, or in a loop's last turn to memory."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import FALSE, Val, integer, vector_type
from triton_rvv.lowering.llvm.vp_memory import store_first
from triton_rvv.lowering.loops import materialise
from triton_rvv.lowering.loops.index_loops import left_over
from triton_rvv.lowering.products.epilogue_stores import EpilogueStore

__all__ = ["TileGoal", "TilePlace", "tile_goal"]


@dataclass(frozen=True)
class TilePlace:
    """Where a tile's rows lie: the first one, and the bytes from one to the next."""

    start: Val
    stride_bytes: Val

    @staticmethod
    def of_array(builder: Builder, array: Buffer, point: VectorIndex) -> TilePlace:
        size_bytes = integer(array.panel * array.element.size_bytes)
        return TilePlace(array.address(builder, point.coordinates), size_bytes)

    def row(self, builder: Builder, number: Val) -> Val:
        """The address of a row."""
        return builder.element_pointer("i8", self.start, builder.mul(number, self.stride_bytes))

    def where(self, builder: Builder, condition: Val, otherwise: TilePlace) -> TilePlace:
        """This one where the condition holds."""
        return TilePlace(
            builder.select(condition, self.start, otherwise.start),
            builder.select(condition, self.stride_bytes, otherwise.stride_bytes),
        )


@dataclass(frozen=True)
class TileGoal:
    """Where a tile goes in the last turn: to memory, if need be by an array, as a part of it.

    Args:
        rows, columns: how many of them are stored.
        is_whole, is_cut: whether all of it is stored in this turn, or a part of it.
    """

    memory: TilePlace
    array: TilePlace
    rows: Val
    columns: Val
    is_whole: Val
    is_cut: Val
    type: str

    def place(self, builder: Builder, otherwise: TilePlace) -> TilePlace:
        """Where the sums are written to, in this turn or in an earlier one."""
        inner = self.array.where(builder, self.is_cut, otherwise)
        return self.memory.where(builder, self.is_whole, inner)

    def store_part(self, builder: Builder) -> None:
        """Write what belongs to memory of the array."""
        with builder.loop(integer(0), self.rows, integer(1)) as row:
            at, to = (place.row(builder, row) for place in (self.array, self.memory))
            store_first(builder, builder.load(self.type, at, 4), to, self.columns, 4)


def tile_goal(
    context: Context,
    store: EpilogueStore | None,
    result: Buffer,
    point: VectorIndex,
    size: tuple[int, int],
    in_parts: bool,
) -> TileGoal | None:
    """Where a tile of a product goes that a store takes; None where no store does.

    Args:
        result: the array for sums that are not complete.
        in_parts: whether the store may take a part of it only.
    """
    builder = context.builder
    if store is None:
        return None
    memory, now = TilePlace(*store.place(builder, point)), store.is_now(builder)
    if not in_parts or store.part is None:
        rows, columns = map(integer, size)
        return TileGoal(memory, memory, rows, columns, now, FALSE, "")
    ends = (store.part.rows, store.part.columns)
    rows, columns = map(functools.partial(left_over, builder), point.coordinates, ends, size)
    whole = map(functools.partial(builder.compare, "eq"), (rows, columns), map(integer, size))
    inside = builder.conjunction(*whole)
    array = materialise.row_major_array(context, TensorType(size, result.element))
    return TileGoal(
        memory,
        TilePlace.of_array(builder, array, VectorIndex((integer(0),), integer(0), 1)),
        rows,
        columns,
        builder.conjunction(now, inside),
        builder.conjunction(now, builder.negation(inside)),
        vector_type("i32", size[1]),
    )
