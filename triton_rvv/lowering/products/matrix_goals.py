"""Where tiles of a matrix unit's product go: to an array, to memory, or into a loop's totals.

    total += dot(a, b).to(float32) * of_rows[:, None] * of_columns[None, :]

Of such totals, a tile does all with the sums in registers, and in that order, which decides how
floats are rounded and which of them are infinite.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.blocks.views import Broadcast, ExpandDims
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import FALSE, Val, integer, vector_type
from triton_rvv.lowering.llvm.vp_memory import store_first
from triton_rvv.lowering.loops import materialise
from triton_rvv.lowering.loops.index_loops import left_over
from triton_rvv.lowering.products.epilogue_stores import EpilogueStore
from triton_rvv.lowering.products.loop_updates import LoopUpdate

__all__ = ["ScaledTotal", "TileGoal", "TilePlace", "scaled_total", "tile_goal"]


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


@dataclass(frozen=True)
class ScaledTotal:
    """What a turn does with a product.

    Args:
        array: the total, before and after.
        rows, columns: the factors, as floats.
    """

    array: Buffer
    rows: Buffer
    columns: Buffer


def scaled_total(context: Context, product: Operation, update: LoopUpdate) -> ScaledTotal | None:
    """The update as one of a scaled total; None for others.

    Args:
        context: where the code goes: before the product.
        update: planned for it, so what it is made of is known.
    """
    value, factors, array = product.result, dict[int, Buffer](), update.array
    names = [str(each.element) for each in (update.product, array)]
    if names != ["i32", "f32"]:
        return None
    for operation in _users(context, product):
        others = [each for each in operation.operands if each is not value]
        if operation.name == "arith.mulf" and len(others) == 1:
            factor = _factor(context.tensor(others[0]))
            if factor is None or factor[0] != (0 if factors else 1):
                return None
            factors.update([factor])
        elif operation.name == "arith.addf" and len(others) == 1 and len(factors) == 2:
            total = context.tensor(others[0])
            is_total = isinstance(total, Buffer) and total.pointer.ref == array.pointer.ref
            return ScaledTotal(array, factors[1], factors[0]) if is_total else None
        elif operation.name != "arith.sitofp" or value is not product.result:
            return None
        value = operation.result
    return None


def _users(context: Context, product: Operation) -> list[Operation]:
    """What uses the product alone, and what alone uses that, and so on."""
    found, value = list[Operation](), product.result
    for operation in context.operations_behind(product):
        if value in operation.operands:
            found.append(operation)
            value = operation.result
    return found


def _factor(tensor: Tensor) -> tuple[int, Buffer] | None:
    """The dimension along which a vector is repeated, and its array; None for other blocks."""
    if not isinstance(tensor, Broadcast) or not isinstance(tensor.operands[0], ExpandDims):
        return None
    expanded = tensor.operands[0]
    line = expanded.operands[0].materialised or expanded.operands[0]
    if not isinstance(line, Buffer) or str(line.element) != "f32" or len(line.shape) != 1:
        return None
    return expanded.axis, line
