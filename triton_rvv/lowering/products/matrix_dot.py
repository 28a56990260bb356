"""`tl.dot` of 8-bit integers by a matrix unit.

Both operands are copied into the order in which the unit takes them: all of A first, and B by a few
columns at a time, always to the same room. The result is computed tile by tile:

    for each few columns of B that stay in the L1 cache:
        copy them
        for each tile's rows of A, copied now if these are all columns:
            for each tile's columns among these: multiply, along all of K

The loop is not `product.py`'s, since columns are copied in it, and a tile is a call of a function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
from triton_rvv.lowering.products.dot_extents import DotExtents, dot_extents
from triton_rvv.lowering.products.loop_updates import plan_loop_update
from triton_rvv.lowering.products.matrix_column_panels import (
    ColumnPanels,
    ColumnSource,
    column_panels,
)
from triton_rvv.lowering.products.matrix_columns import with_columns
from triton_rvv.lowering.products.matrix_goals import (
    ScaledTotal,
    TilePlace,
    scaled_total,
    tile_goal,
)
from triton_rvv.lowering.products.matrix_panels import (
    MatrixOperand,
    RowStrips,
    RowTiles,
    packed_rows,
    row_strips,
    row_tiles,
    strip_guards,
)
from triton_rvv.lowering.products.pack import demanded_count
from triton_rvv.lowering.products.sums import Sums, sums_of
from triton_rvv.targets.matrix_unit import MOST_STEPS_WITHOUT_LOOP, MatrixUnit, TileShape
from triton_rvv.targets.target import Target

__all__ = ["fits_matrix_unit", "multiply_int8"]

# Room for A in order, and what fills it for a row of tiles, if all of A is not in it.
_Left = tuple[MatrixOperand, RowStrips | None]


def fits_matrix_unit(
    target: Target, left: TensorType, right: TensorType, sum_type: ScalarType
) -> bool:
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
    """A product on its way: `A @ b`, added to what its sums begin with.

    Args:
        live: what of the product counts.
        left: A, in order.
        right: B, of which some columns at a time are.
        sums: where they begin and go.
        in_parts: whether the mask of the store that takes them may cut tiles.
        scaled: what the loop's update is, if tiles do it themselves.
        strips: A where it lies, if a row of tiles at a time is put in order.
    """

    unit: MatrixUnit
    live: DotExtents
    left: MatrixOperand
    right: ColumnPanels
    columns: int
    sums: Sums
    in_parts: bool = False
    scaled: ScaledTotal | None = None
    strips: RowStrips | None = None

    def plane(self, builder: Builder, position: Val, rows: int) -> _Product:
        """That of one position in a batch, whose A has so many rows."""
        return replace(
            self,
            left=self.left.plane(builder, position, rows),
            right=replace(self.right, plane=(position,)),
            sums=self.sums.plane(builder, position),
        )


def multiply_int8(
    context: Context,
    operation: Operation,
    operands: Sequence[tuple[Tensor, Tensor]],
    start: Tensor,
    result: Buffer,
) -> None:
    """Write `start + left @ right` to `result`, which may be the array that `start` reads.

    Args:
        operands: left and right, cut along K.
    """
    builder, unit = context.builder, context.target.matrix_unit
    assert unit is not None
    update = plan_loop_update(context, operation, result)
    materialise.prepare(context, [start, *([update.value] if update else [])])
    lefts, rights = [left for left, _ in operands], [right for _, right in operands]
    rows, columns = lefts[0].shape[-2], rights[0].shape[-1]
    most, fewest = unit.tile[1] * unit.side, unit.rows_per_register * unit.side
    tile_columns = min(most, max(fewest, columns))
    live = _extents(context, operation, operands, tile_columns)
    guards = strip_guards(context, lefts, live, columns, tile_columns)
    all_rows = packed_rows(context, unit, lefts, live) if guards is None else None
    sums = sums_of(operation, start, result, update)

    def left(in_place: bool) -> _Left:
        if all_rows is None and in_place:
            strips = row_strips(context, unit, lefts[0], live)
            return strips.packed, strips
        return all_rows or packed_rows(context, unit, lefts, live), None

    def by(a: _Left, sources: Sequence[ColumnSource]) -> None:
        parts = [(each, right.shape[-2]) for each, right in zip(sources, rights, strict=True)]
        b = column_panels(context, unit, parts, columns, live, tile_columns)
        product = _Product(unit, live, a[0], b, tile_columns, sums, strips=a[1])
        if update is not None and _scales_itself(product):
            product = replace(product, scaled=scaled_total(context, operation, update))
        if sums.store is not None:
            sums.store.takes_part = sums.store.part is not None and _is_in_place(product)
        for plane in index_loops.positions(context, lefts[0].shape[:-2], unrolled=False):
            one = product if not plane else product.plane(builder, plane[0], rows)
            _tiles_of_a_store(context, one, rows, columns)

    with_columns(context, unit, rights, live, guards or (), left, by)


def _extents(
    context: Context,
    operation: Operation,
    operands: Sequence[tuple[Tensor, Tensor]],
    tile_columns: int,
) -> DotExtents:
    """What of the product counts. Of no steps along K, all are taken, since a tile takes some."""
    builder = context.builder
    live, *others = (
        dot_extents(context, operation, left, right, ScalarType("i32")) for left, right in operands
    )
    for other in others:  # all steps count: a chain is of few
        live = DotExtents(live.rows or other.rows, live.columns or other.columns)
    rank, columns = len(operands[0][1].shape), operands[0][1].shape[-1]
    if live.columns is None and columns > tile_columns:  # B may be padded, and then has no mask
        live = replace(live, columns=demanded_count(context, operation.result, rank - 1))
    if live.depth is None:
        return live
    is_none = builder.compare("eq", live.depth, integer(0))
    depth = builder.select(is_none, integer(operands[0][0].shape[-1]), live.depth)
    return replace(live, depth=depth)


def _tiles_of_a_store(context: Context, product: _Product, rows: int, columns: int) -> None:
    """Every tile of a product of two matrices, which a store of the whole block does not cut."""
    store = product.sums.store
    if store is None or not store.takes_part:
        _tiles(context, product, rows, columns)
        return

    def tiles(in_parts: bool) -> None:
        with context.region():
            _tiles(context, replace(product, in_parts=in_parts), rows, columns)

    context.builder.branches(store.fits, lambda: tiles(False), lambda: tiles(True), likely=True)


def _tiles(context: Context, product: _Product, rows: int, columns: int) -> None:
    """Every tile of a product of two matrices, as far as it counts."""
    builder, width, block = context.builder, product.columns, product.right.columns
    live, count = product.live.columns, integer(block)
    for first in index_loops.steps(context, live or columns, block, unrolled=False):
        if live is not None:
            left_over = builder.binary("sub", live, first)
            count = builder.smin(integer(block), left_over)
        product.right.pack(context, first, count, product.left.stride)
        for tiles in row_tiles(product.unit, rows):
            height = integer(tiles.operands * product.unit.side)
            bottom = tiles.last(builder, product.live)
            with builder.loop(integer(tiles.first), bottom, height) as row:
                above = row if product.strips is None else integer(0)
                below = builder.add(above, integer(min(tiles.operands, 2) * product.unit.side))
                if product.strips is not None:
                    product.strips.pack(builder, tiles, row)
                panels = [product.left.panel(builder, top) for top in (above, below)]
                with builder.loop(integer(0), count, integer(width)) as column:
                    _tile(context, product, tiles, panels, (row, first, column), columns)


def _tile(
    context: Context,
    product: _Product,
    tiles: RowTiles,
    left: Sequence[Val],
    corner: tuple[Val, Val, Val],
    columns: int,
) -> None:
    """One tile of the result, of panels of A: at a row, and at a column behind the first one that
    is in order."""
    builder, unit, (row, first, column) = context.builder, product.unit, corner
    height, width = tiles.operands * unit.side, min(columns, product.columns)
    point = VectorIndex((row,), builder.add(first, column), width)
    panels = [*left, product.right.packed.panel(builder, column)]
    call = _Call(builder, product, tiles.operands, panels)
    if product.scaled is not None:
        _add_scaled(context, product.scaled, call, point)
        return
    if product.sums.update is not None or not _is_in_place(product):
        _by_an_array(context, product, call, point, height)
        return
    start, result = product.sums.start, product.sums.result
    before = TilePlace.of_array(builder, result, point)
    size = (height, product.columns)
    goal = tile_goal(context, product.sums.store, result, point, size, product.in_parts)
    to = before if goal is None else goal.place(builder, before)
    if start.first is start.usual and not isinstance(start.usual, Buffer):
        call.write(to)
    else:
        builder.branches(start.is_first, lambda: call.write(to), lambda: call.add(to, before))
    if goal is not None:
        builder.branches(goal.is_cut, lambda: goal.store_part(builder))


@dataclass(frozen=True)
class _Call:
    """Calls functions for one tile, which multiply along all of K.

    Args:
        rows: operands of A in it.
        panels: where they lie: the first two, the third, and those of B.
    """

    builder: Builder
    product: _Product
    rows: int
    panels: Sequence[Val]

    def write(self, to: TilePlace) -> None:
        self._call(False, [to.start, to.stride_bytes])

    def add(self, to: TilePlace, before: TilePlace) -> None:
        """Write the sum of the product and of what was before."""
        self._call(True, [to.start, to.stride_bytes, before.start, before.stride_bytes])

    def scale(self, to: TilePlace, rows: Val, columns: Val) -> None:
        """Add the product to a total, times factors of rows and columns that lie there."""
        self._call(False, [to.start, to.stride_bytes, rows, columns], scales=True)

    def _call(self, adds: bool, places: Sequence[Val], scales: bool = False) -> None:
        unit, depth = self.product.unit, self.product.left.stride
        turns = self.builder.shift_right(depth, unit.turn_depth.bit_length() - 1)
        prefetches = self.builder.abilities.machine.prefetch != "off"
        columns = self.product.columns // unit.side
        steps = (depth.constant or 0) // unit.depth
        steps = steps if steps <= MOST_STEPS_WITHOUT_LOOP else 0
        shape = TileShape(self.rows, columns, adds, steps, prefetches, scales)
        arguments = [*self.panels, turns, *places]
        self.builder.call_void(shape.function(unit), arguments)


def _is_in_place(product: _Product) -> bool:
    """Whether tiles are written where they belong, and added to what is there."""
    sums = product.sums
    result, start, store = sums.result, sums.start, sums.store
    if result.panel < product.columns or (store is not None and not store.is_plain):
        return False
    is_zero = isinstance(start.first, Splat) and start.first.value.constant == 0
    if start.first is start.usual:
        is_same = isinstance(start.usual, Buffer) and start.usual.pointer.ref == result.pointer.ref
        return is_zero or is_same
    usual = start.usual
    return is_zero and isinstance(usual, Buffer) and usual.pointer.ref == result.pointer.ref


def _scales_itself(product: _Product) -> bool:
    """Whether tiles cover the block, and begin with sums of 0."""
    sums, first = product.sums, product.sums.start.first
    is_zero = isinstance(first, Splat) and first.value.constant == 0
    panels = (sums.result.panel, sums.update.array.panel if sums.update else 0)
    is_covered = min(panels) >= product.columns
    return is_zero and first is sums.start.usual and is_covered and sums.store is None


def _add_scaled(context: Context, total: ScaledTotal, call: _Call, point: VectorIndex) -> None:
    """Have a tile add to a total."""
    builder, (row,) = context.builder, point.index
    place = TilePlace.of_array(builder, total.array, point)
    factors = [total.rows.address(builder, (row,)), total.columns.address(builder, (point.start,))]
    call.scale(place, *factors)


def _by_an_array(
    context: Context, product: _Product, call: _Call, point: VectorIndex, height: int
) -> None:
    """Write a tile to an array of its own first, and from there on as any other product."""
    builder, sums = context.builder, product.sums
    tile = materialise.row_major_array(
        context, TensorType((height, product.columns), sums.result.element)
    )
    width = min(point.width, sums.result.panel)
    places = [(row, column) for row in range(height) for column in range(0, point.width, width)]
    points = [
        VectorIndex(
            (builder.add(point.index[0], integer(row)),),
            builder.add(point.start, integer(column)),
            width,
        )
        for row, column in places
    ]
    if sums.update is not None:
        sums.update.prefetch(builder, points)
    call.write(TilePlace.of_array(builder, tile, VectorIndex((integer(0),), integer(0), 1)))
    products = [
        tile.at(builder, VectorIndex((integer(row),), integer(column), width))
        for row, column in places
    ]
    starts = sums.start.read(builder, points)
    totals = [builder.add(total.read(), each) for total, each in zip(starts, products, strict=True)]
    sums.write(builder, points, totals)
