"""`tl.dot` of 8-bit integers by a matrix unit.

Both operands are copied into the order in which the unit takes them. The result is computed tile by
tile:

    for each few columns of B that stay in the L1 cache:
        for each tile's rows of A: for each tile's columns among these: multiply, along all of K
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.recipes import Splat
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.loops import index_loops, materialise
from triton_rvv.lowering.products.accumulator_init import AccumulatorInit, accumulator_init
from triton_rvv.lowering.products.epilogue_stores import EpilogueStore
from triton_rvv.lowering.products.matrix_panels import (
    MatrixOperand,
    RowTiles,
    packed_columns,
    packed_rows,
    row_tiles,
)
from triton_rvv.targets.matrix_unit import MatrixUnit, TileShape
from triton_rvv.targets.target import Target

__all__ = ["fits_matrix_unit", "multiply_int8"]


def fits_matrix_unit(target: Target, left: Tensor, right: Tensor, sum_type: ScalarType) -> bool:
    """Whether the unit can compute `left @ right`."""
    unit = target.matrix_unit
    if unit is None:
        return False
    types = (left.element, right.element, sum_type)
    is_int8 = types == (ScalarType("i8"), ScalarType("i8"), ScalarType("i32"))
    is_large = min(left.shape[-2], right.shape[-1]) >= unit.side and left.shape[-1] >= unit.depth
    return is_int8 and is_large


@dataclass(frozen=True)
class _Product:
    """A product on its way: `result = start + A @ b`.

    Args:
        unit: multiplies.
        left, right: the operands.
        columns: of a tile.
        start: the sums before.
        result: the sums after; it may be the array that `start` reads.
        store: what to do with complete tiles in the last turn of a loop.
    """

    unit: MatrixUnit
    left: MatrixOperand
    right: MatrixOperand
    columns: int
    start: AccumulatorInit
    result: Buffer
    store: EpilogueStore | None


def multiply_int8(
    context: Context,
    operation: Operation,
    operands: tuple[Tensor, Tensor],
    start: Tensor,
    result: Buffer,
) -> None:
    """Write `start + left @ right` to `result`, which may be the array that `start` reads."""
    builder, unit, (left, right) = context.builder, context.target.matrix_unit, operands
    assert unit is not None
    materialise.prepare(context, [start])
    rows, columns = left.shape[-2], right.shape[-1]
    most, fewest = unit.tile[1] * unit.side, unit.rows_per_register * unit.side
    tile_columns = min(most, max(fewest, columns))
    a = packed_rows(context, unit, left)
    b = packed_columns(context, unit, right, tile_columns)
    before = accumulator_init(start)
    store = before.store if before.store and before.store.product is operation else None
    if store is not None:
        store.is_taken = True
    product = _Product(unit, a, b, tile_columns, before, result, store)
    if len(left.shape) == 2:
        _tiles(context, product, rows, columns)
        return
    for batch in index_loops.steps(context, left.shape[0], 1, unrolled=False):
        plane = _Product(
            unit,
            a.plane(builder, batch, rows),
            b.plane(builder, batch, max(columns, tile_columns)),
            tile_columns,
            before.plane(batch),
            result.plane(builder, batch),
            None,
        )
        _tiles(context, plane, rows, columns)


def _tiles(context: Context, product: _Product, rows: int, columns: int) -> None:
    """Every tile of a product of two matrices."""
    builder, width = context.builder, product.columns
    resident = context.target.machine.l1d_bytes // product.right.depth
    block = max(width, resident // width * width)
    for first in index_loops.steps(context, columns, block, unrolled=False):
        end = builder.intrinsic("llvm.smin", [builder.add(first, integer(block)), integer(columns)])
        if columns <= block:
            end = integer(columns)
        for tiles in row_tiles(product.unit, rows):
            height = tiles.operands * product.unit.side
            top, bottom = integer(tiles.first), integer(tiles.end)
            with (
                builder.loop(top, bottom, integer(height)) as row,
                builder.loop(first, end, integer(width)) as column,
            ):
                _tile(context, product, tiles, (row, column), columns)


def _tile(
    context: Context, product: _Product, tiles: RowTiles, corner: tuple[Val, Val], columns: int
) -> None:
    """One tile of the result."""
    builder, unit, (row, column) = context.builder, product.unit, corner
    height, width = tiles.operands * unit.side, min(columns, product.columns)
    point = VectorIndex((row,), column, width)
    below = builder.add(row, integer(min(tiles.operands, 2) * unit.side))
    panels = [product.left.panel(builder, first) for first in (row, below)]
    panels.append(product.right.panel(builder, column))
    call = _Call(builder, product, tiles.operands, panels)
    if not _is_in_place(product):
        _by_an_array(context, product, call, point, height)
        return
    to, store = _Place.of_array(builder, product.result, point), product.store
    before = to
    if store is not None:
        to = _Place(*store.place(builder, point)).where(builder, store.is_now, to)
    start = product.start
    if start.first is start.usual and not isinstance(start.usual, Buffer):
        call.write(to)
    else:
        builder.branches(start.is_first, lambda: call.write(to), lambda: call.add(to, before))


@dataclass(frozen=True)
class _Place:
    """Where a tile's rows lie: the first one, and the bytes from one to the next."""

    start: Val
    stride_bytes: Val

    @staticmethod
    def of_array(builder: Builder, array: Buffer, point: VectorIndex) -> _Place:
        size_bytes = integer(array.panel * array.element.size_bytes)
        return _Place(array.address(builder, point.coordinates), size_bytes)

    def where(self, builder: Builder, condition: Val, otherwise: _Place) -> _Place:
        """This one where the condition holds."""
        return _Place(
            builder.select(condition, self.start, otherwise.start),
            builder.select(condition, self.stride_bytes, otherwise.stride_bytes),
        )


@dataclass(frozen=True)
class _Call:
    """Calls functions for one tile, which multiply along all of K.

    Args:
        builder: writes the code.
        product: of which the tile is a part.
        rows: operands of A in it.
        panels: where they lie: the first two, the third, and those of B.
    """

    builder: Builder
    product: _Product
    rows: int
    panels: Sequence[Val]

    def write(self, to: _Place) -> None:
        self._call(False, [to.start, to.stride_bytes])

    def add(self, to: _Place, before: _Place) -> None:
        """Write the sum of the product and of what was before."""
        self._call(True, [to.start, to.stride_bytes, before.start, before.stride_bytes])

    def _call(self, adds: bool, places: Sequence[Val]) -> None:
        unit = self.product.unit
        steps = self.product.right.depth // unit.depth
        prefetches = self.builder.abilities.machine.prefetch != "off"
        columns = self.product.columns // unit.side
        shape = TileShape(self.rows, columns, adds, steps == 1, prefetches)
        arguments = [*self.panels, integer(steps // 2), *places]
        self.builder.call_void(shape.function(unit), arguments)


def _is_in_place(product: _Product) -> bool:
    """Whether tiles are written where they belong, and added to what is there."""
    result, start, store = product.result, product.start, product.store
    if result.panel < product.columns or (store is not None and not store.is_plain):
        return False
    is_zero = isinstance(start.first, Splat) and start.first.value.constant == 0
    if start.first is start.usual:
        is_same = isinstance(start.usual, Buffer) and start.usual.pointer.ref == result.pointer.ref
        return is_zero or is_same
    usual = start.usual
    return is_zero and isinstance(usual, Buffer) and usual.pointer.ref == result.pointer.ref


def _by_an_array(
    context: Context, product: _Product, call: _Call, point: VectorIndex, height: int
) -> None:
    """Write a tile to an array of its own first, and from there on as any other product."""
    builder = context.builder
    tile = materialise.row_major_array(
        context, TensorType((height, product.columns), product.result.element)
    )
    call.write(_Place.of_array(builder, tile, VectorIndex((integer(0),), integer(0), 1)))
    width = min(point.width, product.result.panel)
    points, sums = [], []
    for row in range(height):
        for column in range(0, point.width, width):
            place = builder.add(point.index[0], integer(row))
            points.append(VectorIndex((place,), builder.add(point.start, integer(column)), width))
            here = VectorIndex((integer(row),), integer(column), width)
            sums.append(tile.at(builder, here))
    totals = product.start.read(builder, points)
    sums = [builder.add(total.read(), each) for total, each in zip(totals, sums, strict=True)]
    _write(context, product, points, sums)


def _write(
    context: Context, product: _Product, points: Sequence[VectorIndex], sums: Sequence[Val]
) -> None:
    """To memory where the sums are complete, and otherwise to the array."""
    builder, store = context.builder, product.store

    def to_array() -> None:
        for point, value in zip(points, sums, strict=True):
            product.result.write(builder, point, value)

    if store is None:
        to_array()
    else:
        builder.branches(store.is_now, lambda: store.write(builder, points, sums), to_array)
